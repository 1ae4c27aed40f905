package keyrail

// About 100 bytes each, so 1 MB at most.
const endedMax = 10_000

type endedKey struct {
	code Code
	// at is when it was noted, in notes.
	at int
}

type endedNote struct {
	digest digest
	at     int
}

// endedKeys are the reasons why keys have ended: those that this node held, and others whose cause the
// service gave. The feed names a revoked key only to nodes that were running then. A node knows nothing about
// keys that ended earlier.
type endedKeys struct {
	codes map[digest]endedKey
	// notes are in their order; a newer one about the same key replaces an older one.
	notes []endedNote
	count int
}

func newEndedKeys() *endedKeys { return &endedKeys{codes: map[digest]endedKey{}} }

// code is empty for a key that is not known to have ended.
func (e *endedKeys) code(d *digest) Code { return e.codes[*d].code }

// add records a key that is about to be removed. If it was past its end at that time, by the service's
// clock, that is why; otherwise it was revoked.
func (e *endedKeys) add(record *record, at float64) {
	code := codeAfter(record.end)
	if record.end > at {
		code = RevokedKey
	}
	e.set(record.digest, code)
}

// addCause records the cause that the service gave. With an unknown cause, the key is just unknown.
func (e *endedKeys) addCause(d digest, cause string) {
	if code, isKnown := codeByCause[cause]; isKnown {
		e.set(d, code)
	} else {
		e.forget(d)
	}
}

func (e *endedKeys) addAll(store *store, at float64) {
	store.each(func(slot uint32) { e.add(&store.records[slot], at) })
}

func (e *endedKeys) set(d digest, code Code) {
	e.count++
	e.codes[d] = endedKey{code, e.count}
	e.notes = append(e.notes, endedNote{d, e.count})
	for len(e.codes) > endedMax || len(e.notes) > 2*endedMax {
		oldest := e.notes[0]
		e.notes = e.notes[1:]
		if e.codes[oldest.digest].at == oldest.at {
			delete(e.codes, oldest.digest)
		}
	}
}

// forget: the service sends the key again, such as an expired one that was renewed.
func (e *endedKeys) forget(d digest) { delete(e.codes, d) }

func (e *endedKeys) clear() { *e = *newEndedKeys() }
