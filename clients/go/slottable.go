package keyrail

// slotTable is an index from 32-bit hashes to slots: open addressing with linear probing, at most half full,
// 4 bytes per cell. It holds no keys: the hash of a slot is in the caller's records, and the caller compares.
// Attackers cannot choose hashes that collide, because the service issues what is hashed.
type slotTable struct {
	// cells hold slot + 1; 0 if empty. The caller probes from hash & mask onwards to an empty cell.
	cells []uint32
	mask  uint32
	size  int
}

func newSlotTable(size int) slotTable {
	length := 16
	for length < size*2 {
		length *= 2
	}
	return slotTable{cells: make([]uint32, length), mask: uint32(length - 1)}
}

// add needs the hash of every slot, the same from add to remove.
func (t *slotTable) add(slot uint32, hashOf func(uint32) uint32) {
	t.size++
	if t.size*2 > len(t.cells) {
		former := t.cells
		grown := newSlotTable(len(former))
		t.cells, t.mask = grown.cells, grown.mask
		for _, cell := range former {
			if cell != 0 {
				t.place(cell-1, hashOf(cell-1))
			}
		}
	}
	t.place(slot, hashOf(slot))
}

func (t *slotTable) place(slot, hash uint32) {
	at := hash & t.mask
	for t.cells[at] != 0 {
		at = (at + 1) & t.mask
	}
	t.cells[at] = slot + 1
}

func (t *slotTable) remove(slot uint32, hashOf func(uint32) uint32) {
	hole := hashOf(slot) & t.mask
	for t.cells[hole] != slot+1 {
		if t.cells[hole] == 0 {
			return
		}
		hole = (hole + 1) & t.mask
	}
	// Moves up the cells that were pushed past the hole, so that no probe ends early and no tombstones are
	// needed.
	for at := (hole + 1) & t.mask; t.cells[at] != 0; at = (at + 1) & t.mask {
		home := hashOf(t.cells[at]-1) & t.mask
		if (at-home)&t.mask < (at-hole)&t.mask {
			continue
		}
		t.cells[hole] = t.cells[at]
		hole = at
	}
	t.cells[hole] = 0
	t.size--
}
