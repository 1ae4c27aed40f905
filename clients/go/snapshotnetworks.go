package keyrail

import (
	"encoding/json"
	"sort"
)

// snapshotNetworks are the networks of keys and tenants in the header of a disk snapshot.
type snapshotNetworks struct {
	// Lists are the lists, each once, as in the feed. The others name one by its place here.
	Lists [][]string `json:"lists"`
	// Keys are pairs of the position of a key that has a list of its own, and the place of the list.
	Keys []pair `json:"keys"`
	// Tenants are pairs of a tenant id and the place of its list, or null for a list that cannot be read.
	Tenants []pair `json:"tenants"`
}

func networksForDisk(store *store) *snapshotNetworks {
	saved := &snapshotNetworks{Lists: [][]string{}, Keys: []pair{}, Tenants: []pair{}}
	places := map[string]int{}
	place := func(list *networks) any {
		if list.isUnreadable {
			return nil
		}
		texts := list.texts()
		name := nameOfList(texts)
		at, isKnown := places[name]
		if !isKnown {
			at = len(saved.Lists)
			places[name] = at
			saved.Lists = append(saved.Lists, texts)
		}
		return at
	}
	if len(store.keyNetworks) > 0 {
		position := 0
		store.each(func(slot uint32) {
			if own, isOwn := store.keyNetworks[slot]; isOwn {
				saved.Keys = append(saved.Keys, pairOf(position, place(own)))
			}
			position++
		})
	}
	ids := make([]string, 0, len(store.tenantNetworks))
	for id := range store.tenantNetworks {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		saved.Tenants = append(saved.Tenants, pairOf(id, place(store.tenantNetworks[id])))
	}
	return saved
}

// restoreNetworks is false if a list cannot be read, or one is named that does not exist: no key may lose its
// list.
func (h *snapshotHeader) restoreNetworks(store *store) bool {
	if h.Networks == nil {
		return true
	}
	saved := h.Networks
	if saved.Lists == nil || saved.Keys == nil || saved.Tenants == nil {
		return false
	}
	lists := make([]*networks, len(saved.Lists))
	names := map[string]bool{}
	for at, texts := range saved.Lists {
		read, ok := readNetworks(textOf(texts))
		name := nameOfList(texts)
		if !ok || names[name] {
			return false
		}
		lists[at], names[name] = read, true
	}
	for _, each := range saved.Keys {
		position, isPosition := readCount(each[0])
		place, isPlace := readCount(each[1])
		if !isPosition || !isPlace || position >= int64(store.size) || place >= int64(len(lists)) {
			return false
		}
		store.keyNetworks[uint32(position)] = lists[place]
	}
	for _, each := range saved.Tenants {
		id, ok := readString(each[0])
		list := listAt(each[1], lists)
		if !ok || list == nil {
			return false
		}
		store.tenantNetworks[id] = list
	}
	return true
}

// listAt is nil for a place without a list, and for an empty one, which no tenant has.
func listAt(raw json.RawMessage, lists []*networks) *networks {
	if string(raw) == "null" {
		return &networks{isUnreadable: true}
	}
	place, ok := readCount(raw)
	if !ok || place >= int64(len(lists)) || len(lists[place].ranges) == 0 {
		return nil
	}
	return lists[place]
}
