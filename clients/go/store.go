package keyrail

import (
	"encoding/binary"
	"math"
	"sync/atomic"
)

// record is a key in memory; 64 bytes. The disk snapshot has another form (snapshot.go).
type record struct {
	digest digest
	// end is as endOf writes it.
	end float64
	// used is a stamp that rises with every use; 0 for a free slot. Verifications set it while others read
	// it.
	used   uint64
	tenant uint32
	scopes uint32
	// limits is the number of the limits times two, and one for a test key. In a free slot the next free one
	// + 1, or 0.
	limits uint32
	// A record of 64 bytes keeps used aligned, also on processors of 32 bits.
	_ uint32
}

func (r *record) env() string {
	if r.limits&1 == 1 {
		return "test"
	}
	return "live"
}

// Shared values without a record that are kept before they are dropped.
const sharedSlack = 4096

const firstCapacity = 16

// store has the keys that a node holds: bounded, found by digest for verification and by key id for changes.
// A key beyond the bound replaces the one that was used least recently. No clock and no I/O. One goroutine
// may change it while none reads.
type store struct {
	maxKeys int
	// evictions are keys that were dropped for lack of room. Above 0, an unknown key may be valid.
	evictions int
	// revision rises with every change, so that a writer knows whether a saved copy is current.
	revision int
	// confirmedAt is when the service last confirmed all records.
	confirmedAt float64

	size      int
	records   []record
	firstFree uint32
	ids       keyIDs
	shared    *shared
	// metas are those that are not blank, by slot. hasBlank: the feed gives a meta, so the others have a
	// blank one.
	metas    map[uint32]Meta
	hasBlank bool
	// suspended are ids of tenants whose keys are refused, also of those without a key here.
	suspended map[string]struct{}
	// keyNetworks are by slot, of keys that have a list of their own. tenantNetworks are by tenant id, also of
	// those without a key here.
	keyNetworks    map[uint32]*networks
	tenantNetworks map[string]*networks
	// acceptsImported: the project takes keys from elsewhere, so that a text of any form may be one.
	acceptsImported bool
	// isImportingUnknown: an earlier process did not know whether it does, and no answer has said it yet.
	isImportingUnknown bool

	byDigest slotTable
	byID     slotTable
	// uses is the highest stamp, and leastUsed the slots that go first.
	uses      atomic.Uint64
	leastUsed leastUsed
}

func newStore(maxKeys int) *store {
	return &store{
		maxKeys:        maxKeys,
		confirmedAt:    math.Inf(-1),
		shared:         newShared(),
		metas:          map[uint32]Meta{},
		suspended:      map[string]struct{}{},
		keyNetworks:    map[uint32]*networks{},
		tenantNetworks: map[string]*networks{},
		byDigest:       newSlotTable(0),
		byID:           newSlotTable(0),
	}
}

// confirm notes that the keys were valid at this time. A time before the present one has no effect.
func (s *store) confirm(at float64) { s.confirmedAt = math.Max(s.confirmedAt, at) }

func hashOfDigest(d *digest) uint32 { return binary.LittleEndian.Uint32(d[:4]) }

func (s *store) digestHash(slot uint32) uint32 { return hashOfDigest(&s.records[slot].digest) }

// find returns the slot of the record with this digest.
func (s *store) find(sought *digest) (slot uint32, ok bool) {
	mask := s.byDigest.mask
	for at := hashOfDigest(sought) & mask; ; at = (at + 1) & mask {
		cell := s.byDigest.cells[at]
		if cell == 0 {
			return 0, false
		}
		if s.records[cell-1].digest == *sought {
			return cell - 1, true
		}
	}
}

func (s *store) findID(id string) (slot uint32, ok bool) {
	sought := seekID(id)
	mask := s.byID.mask
	for at := hashOfID(sought.words) & mask; ; at = (at + 1) & mask {
		cell := s.byID.cells[at]
		if cell == 0 {
			return 0, false
		}
		if s.ids.is(cell-1, &sought) {
			return cell - 1, true
		}
	}
}

func (s *store) hasID(id string) bool {
	_, ok := s.findID(id)
	return ok
}

// upsert adds or replaces a record. Counts as a use, so that the newest key is not dropped first.
func (s *store) upsert(key *storedKey) {
	s.revision++
	byDigest, hasDigest := s.find(&key.digest)
	byID, hasID := s.findID(key.keyID)
	if hasDigest && hasID && byDigest == byID {
		former := s.records[byDigest].tenant
		s.set(byDigest, key)
		s.shared.leave(former)
		s.boundShared()
		return
	}
	// The id has another digest, or the digest another id: remove both old records, which the feed no longer
	// has.
	if hasDigest {
		s.removeSlot(byDigest)
	}
	if hasID {
		s.removeSlot(byID)
	}
	if s.size >= s.maxKeys {
		s.removeSlot(s.leastUsed.take(s))
		s.evictions++
	}
	slot := s.takeSlot()
	s.size++
	s.records[slot] = record{digest: key.digest}
	s.ids.set(slot, key.keyID)
	s.set(slot, key)
	s.byDigest.add(slot, s.digestHash)
	s.byID.add(slot, s.ids.hash)
	s.boundShared()
}

// set sets everything except id and digest, by which the record is found.
func (s *store) set(slot uint32, key *storedKey) {
	record := &s.records[slot]
	record.end = key.end
	atomic.StoreUint64(&record.used, s.uses.Add(1))
	record.tenant = s.shared.tenant(key.tenantID)
	s.shared.tenants[record.tenant].keys++
	record.scopes = s.shared.scopeList(key.scopes)
	record.limits = s.shared.limitSet(key.limits) << 1
	if key.env == "test" {
		record.limits |= 1
	}
	s.setMeta(slot, key.meta)
	s.setKeyNetworks(slot, key.networks)
}

// remove removes the record with this id and the one with this digest, should they differ.
func (s *store) remove(names keyNames) {
	if slot, ok := s.findID(names.keyID); ok && names.keyID != "" {
		s.removeSlot(slot)
	}
	if slot, ok := s.find(&names.digest); ok && names.hasDigest {
		s.removeSlot(slot)
	}
}

func (s *store) removeSlot(slot uint32) {
	s.revision++
	s.byDigest.remove(slot, s.digestHash)
	s.byID.remove(slot, s.ids.hash)
	s.shared.leave(s.records[slot].tenant)
	delete(s.metas, slot)
	delete(s.keyNetworks, slot)
	s.ids.clear(slot)
	s.records[slot] = record{limits: s.firstFree}
	s.firstFree = slot + 1
	s.size--
}

func (s *store) usedAt(slot uint32) uint64 { return atomic.LoadUint64(&s.records[slot].used) }

// touch notes a use, which costs something where many processors verify, so only once keys may have to go.
// The most recent key needs no new stamp.
func (s *store) touch(slot uint32) {
	used := &s.records[slot].used
	if float64(s.size) >= float64(s.maxKeys)*fullShare && atomic.LoadUint64(used) != s.uses.Load() {
		atomic.StoreUint64(used, s.uses.Add(1))
	}
}

// each calls the function with every used slot, in the order of the slots. It may remove the slot.
func (s *store) each(do func(slot uint32)) {
	for slot := range s.records {
		if s.usedAt(uint32(slot)) != 0 {
			do(uint32(slot))
		}
	}
}

// keepOnly drops every record whose key the other store does not hold.
func (s *store) keepOnly(other *store) {
	s.each(func(slot uint32) {
		if !other.hasID(s.ids.text(slot)) {
			s.removeSlot(slot)
			s.evictions++
		}
	})
}

func (s *store) clear() {
	s.each(s.removeSlot)
	s.suspended = map[string]struct{}{}
	s.tenantNetworks = map[string]*networks{}
}

func (s *store) takeSlot() uint32 {
	if s.firstFree != 0 {
		slot := s.firstFree - 1
		s.firstFree = s.records[slot].limits
		return slot
	}
	if len(s.records) == cap(s.records) {
		s.reserve(len(s.records) + len(s.records)/4 + firstCapacity)
	}
	slot := uint32(len(s.records))
	s.records = s.records[:slot+1]
	s.ids.grow()
	return slot
}

func (s *store) reserve(capacity int) {
	records := make([]record, len(s.records), capacity)
	copy(records, s.records)
	s.records = records
	s.ids.reserve(capacity)
}

// boundShared is rarely true: the cost of a walk through all records is spread over thousands of updates.
func (s *store) boundShared() {
	if s.shared.size() > 3*s.size+sharedSlack {
		s.dropUnusedShared()
	}
}

// dropUnusedShared renumbers the shared values that records use, and drops the others.
func (s *store) dropUnusedShared() {
	former := s.shared
	s.shared = newShared()
	s.each(func(slot uint32) {
		record := &s.records[slot]
		from := former.tenants[record.tenant]
		record.tenant = s.shared.tenant(from.id)
		to := &s.shared.tenants[record.tenant]
		to.externalID, to.hasExternalID = from.externalID, from.hasExternalID
		to.keys++
		record.scopes = s.shared.scopeList(former.scopes[record.scopes])
		record.limits = s.shared.limitSet(former.limits[record.limits>>1])<<1 | record.limits&1
	})
	// Tenants that are named, and whose first key comes next.
	for _, each := range former.tenants {
		if each.keys == 0 && each.hasExternalID {
			s.shared.setTenant(namedTenant{each.id, each.externalID, true})
		}
	}
}
