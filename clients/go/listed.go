package keyrail

import "fmt"

// suspendedFeature: with it, answers list suspended tenants, and keys of these tenants are in the feed.
const suspendedFeature = "suspended"

// listedTenant is a tenant of an answer whose features list suspendedFeature or cidrFeature.
type listedTenant struct {
	id          string
	isSuspended bool
	// networks are nil if keys of the tenant may be used from any address.
	networks *networks
	// unreadable is the member that has a value that is new, or empty. With it, a tenant counts as suspended, or
	// its keys may be used from no address.
	unreadable string
}

// readListed reads what an answer says of tenants: nothing if the service knows none of the features. An entry
// that names no tenant is an error, because it may be about any.
func (b *feedBody) readListed(fields members) *Error {
	b.listsSuspended = contains(b.features, suspendedFeature)
	b.listsNetworks = contains(b.features, cidrFeature)
	if !b.listsSuspended && !b.listsNetworks {
		return nil
	}
	list, ok := readList(fields["tenants"])
	if !ok {
		return badResponse("tenants")
	}
	for _, each := range list {
		fields, _ := readMembers(each)
		id, ok := readText(fields["tenant_id"])
		if !ok {
			return badResponse("tenants, of which one has no tenant_id")
		}
		b.listed = append(b.listed, b.readTenant(id, fields))
	}
	return nil
}

func (b *feedBody) readTenant(id string, fields members) listedTenant {
	listed := listedTenant{id: id}
	if raw, isGiven := fields["allowed_cidrs"]; isGiven && b.listsNetworks {
		var ok bool
		if listed.networks, ok = readNetworks(raw); !ok {
			listed.networks, listed.unreadable = &networks{isUnreadable: true}, "allowed_cidrs"
		} else if len(listed.networks.ranges) == 0 {
			listed.networks = nil
		}
	}
	if raw, isGiven := fields["suspended"]; isGiven && b.listsSuspended {
		isSuspended, isBool := readBool(raw)
		listed.isSuspended = isSuspended || !isBool
		if !isBool {
			listed.unreadable = "suspended"
		}
	}
	return listed
}

// setListed notes what an answer says of its tenants, of those that have no key here too.
func (s *store) setListed(body *feedBody) {
	for _, each := range body.listed {
		if body.listsSuspended {
			s.setSuspended(each.id, each.isSuspended)
		}
		if body.listsNetworks {
			s.setTenantNetworks(each.id, each.networks)
		}
	}
}

// setSuspended notes whether the keys of a tenant are refused, also if it has none here.
func (s *store) setSuspended(tenantID string, isSuspended bool) {
	if s.isSuspended(tenantID) == isSuspended {
		return
	}
	s.revision++
	if isSuspended {
		s.suspended[tenantID] = struct{}{}
	} else {
		delete(s.suspended, tenantID)
	}
}

func (s *store) isSuspended(tenantID string) bool {
	_, isSuspended := s.suspended[tenantID]
	return isSuspended
}

// needsSnapshot says whether a delta does not suffice to bring the store up to date.
func (f *follower) needsSnapshot(body *feedBody) bool {
	if body.needsSnapshot || f.isNewer(body) {
		return true
	}
	// The store also knows tenants that have lost their keys; a new one does not.
	store := f.served.store
	suspended, limited := len(store.suspended), len(store.tenantNetworks)
	for _, each := range body.listed {
		if each.isSuspended && !store.isSuspended(each.id) {
			suspended++
		}
		if _, isKnown := store.tenantNetworks[each.id]; each.networks != nil && !isKnown {
			limited++
		}
	}
	return suspended > f.settings.maxKeys || limited > f.settings.maxKeys
}

// list notes what a page says of its tenants. A page never resumes a tenant of a page before it, nor lets its
// keys be used from any address: the delta after the walk does.
func (w *walk) list(page *feedBody) *Error {
	for _, each := range page.listed {
		if each.isSuspended {
			w.store.setSuspended(each.id, true)
		}
		if each.networks != nil {
			w.store.setTenantNetworks(each.id, each.networks)
		}
	}
	w.oddTenants = append(w.oddTenants, oddTenants(page.listed)...)
	most := w.follower.settings.maxKeys
	if len(w.store.suspended) > most {
		return badResponse(fmt.Sprintf(
			"tenants, of which more are suspended than the %d keys that this node may hold", most))
	}
	if len(w.store.tenantNetworks) > most {
		return badResponse(fmt.Sprintf(
			"tenants, of which more have allowed_cidrs than the %d keys that this node may hold", most))
	}
	return nil
}

// oddTenants are those of which a member cannot be read.
func oddTenants(listed []listedTenant) []listedTenant {
	var odd []listedTenant
	for _, each := range listed {
		if each.unreadable != "" {
			odd = append(odd, each)
		}
	}
	return odd
}

func idsOfOdd(odd []listedTenant, member string) []string {
	var ids []string
	for _, each := range odd {
		if each.unreadable == member {
			ids = append(ids, each.id)
		}
	}
	return ids
}

// unreadableTenants is about tenants of which a member cannot be read.
func unreadableTenants(ids []string, member string) *Error {
	one, more := "counts as suspended", "count as suspended"
	if member == "allowed_cidrs" {
		one, more = "has keys that are refused from any address", "have keys that are refused from any address"
	}
	problem := fmt.Sprintf("The tenant %s %s", shown(ids[0]), one)
	if len(ids) > 1 {
		problem = fmt.Sprintf("%d tenants %s, such as %s", len(ids), more, shown(ids[0]))
	}
	return lasting("unreadable_key", fmt.Sprintf(
		"%s: %s cannot be read. A newer version of this package may be able to read it", problem, member))
}
