package keyrail

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"path/filepath"
	"strings"
)

// write begins to write the keys if they have changed, and otherwise a note of their confirmation. The caller
// holds the lock, and nothing changes the store meanwhile: the keys are laid out here, and only the disk is
// waited for elsewhere.
func (d *disk) write(k *kept) {
	now := d.clock.monotonic()
	confirmedAt := k.store.confirmedAt
	ageMs := now - confirmedAt
	at := confirmation{d.clock.wall() - ageMs, d.clock.uptime() - ageMs, d.time.known(confirmedAt)}
	if math.IsNaN(at.uptime) {
		// No reader serves such a file before the service answers.
		at.uptime = 0
	}
	directory := d.directory
	d.confirmedAt = now
	if !d.isChanged(k) {
		subject := d.subjectOf(k)
		d.run(func() { d.wrote(d.writeNote(directory, subject, at), confirmedAt) })
		return
	}
	d.keysAt = now
	store, revision := k.store, k.store.revision
	bytes := encodeSnapshot(k, &d.settings.scope, at)
	d.onDisk = nil
	d.run(func() {
		err := writeWhole(directory, d.name, bytes)
		if err == nil {
			d.mu.Lock()
			d.onDisk, d.revision = store, revision
			d.mu.Unlock()
		}
		d.wrote(err, confirmedAt)
	})
}

// wrote reports a failure once, even if the disk is full for an hour.
func (d *disk) wrote(err error, confirmedAt float64) {
	d.mu.Lock()
	isNew := err != nil && !d.hasFailed
	d.hasFailed = err != nil
	if err == nil {
		d.confirmedThen = confirmedAt
	}
	d.mu.Unlock()
	if isNew {
		d.notify("disk_write_failed", "The disk snapshot was not written: "+err.Error())
	}
}

func (d *disk) writeNote(directory, subject string, at confirmation) error {
	name := d.name + ".confirmed"
	last, ok := readNote(filepath.Join(directory, name), subject)
	// Another process may have noted a later confirmation, but none in the future.
	if ok && last.wall > at.wall && last.wall <= d.clock.wall() {
		return nil
	}
	return writeWhole(directory, name, noteOf(at, subject))
}

// subjectOf names what a note confirms: all keys of a version in a scope. Versions do not come twice, even
// after a restored backup.
func (d *disk) subjectOf(k *kept) string {
	scope := &d.settings.scope
	return sumOf(textOf([]any{
		k.workspaceID, scope.project, scope.env, scope.tenants, features, k.version, scope.service,
	}))
}

// note is the text of a note, before its checksum.
type note struct {
	Of          string   `json:"of"`
	ConfirmedAt *float64 `json:"confirmed_at"`
	UptimeMs    *float64 `json:"uptime_ms"`
	ServiceAt   *float64 `json:"service_at,omitempty"`
}

func noteOf(at confirmation, subject string) []byte {
	facts := note{Of: subject, ConfirmedAt: &at.wall, UptimeMs: &at.uptime}
	if !math.IsNaN(at.service) {
		facts.ServiceAt = &at.service
	}
	text := textOf(facts)
	return append(append(text, '\n'), sumOf(text)...)
}

// readNote is false if the note is absent, damaged or about another snapshot: then the snapshot's own time
// counts.
func readNote(path, subject string) (confirmation, bool) {
	file, err := readWhole(path)
	facts, sum, _ := strings.Cut(string(file), "\n")
	if err != nil || sumOf([]byte(facts)) != sum {
		return confirmation{}, false
	}
	fields, _ := readMembers([]byte(facts))
	of, _ := readString(fields["of"])
	wall, hasWall := readNumber(fields["confirmed_at"])
	uptime, hasUptime := readNumber(fields["uptime_ms"])
	service, hasService := readNumber(fields["service_at"])
	if !hasService {
		service = math.NaN()
	}
	return confirmation{wall, uptime, service}, of == subject && hasWall && hasUptime
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
