package keyrail

import "sort"

// leastUsed finds the slot that was used least recently without a linked list. Only dropping a key, which is
// rare, costs more than a stamp: it sorts all slots by stamp once and takes them in that order. A slot whose
// stamp has changed since was used or replaced, so it is younger than all that remain.
type leastUsed struct {
	queue []usedSlot
}

type usedSlot struct {
	slot uint32
	used uint64
}

// take returns the slot with the lowest stamp of a store that is not empty.
func (l *leastUsed) take(store *store) uint32 {
	for {
		for len(l.queue) > 0 {
			first := l.queue[0]
			l.queue = l.queue[1:]
			if store.usedAt(first.slot) == first.used {
				return first.slot
			}
		}
		store.each(func(slot uint32) { l.queue = append(l.queue, usedSlot{slot, store.usedAt(slot)}) })
		sort.Slice(l.queue, func(one, other int) bool { return l.queue[one].used < l.queue[other].used })
	}
}
