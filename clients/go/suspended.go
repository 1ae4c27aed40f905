package keyrail

import "fmt"

// suspendedFeature: with it, answers list suspended tenants, and keys of these tenants are in the feed.
const suspendedFeature = "suspended"

// listedTenant is a tenant of an answer whose features list suspendedFeature.
type listedTenant struct {
	id          string
	isSuspended bool
	// isUnreadable: suspended has a value that is new, so the tenant counts as suspended.
	isUnreadable bool
}

// readSuspended reads which tenants of an answer are suspended: none if the service does not say. An entry
// that names no tenant is an error, because it may suspend any.
func (b *feedBody) readSuspended(fields members) *Error {
	if !contains(b.features, suspendedFeature) {
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
		listed := listedTenant{id: id}
		if raw, isGiven := fields["suspended"]; isGiven {
			isSuspended, isBool := readBool(raw)
			listed.isSuspended, listed.isUnreadable = isSuspended || !isBool, !isBool
		}
		b.listed = append(b.listed, listed)
	}
	return nil
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
	// The store also knows suspended tenants that have lost their keys; a new one does not.
	store := f.served.store
	known := len(store.suspended)
	for _, each := range body.listed {
		if each.isSuspended && !store.isSuspended(each.id) {
			known++
		}
	}
	return known > f.settings.maxKeys
}

// suspend notes the suspended tenants of a page. A page never resumes a tenant of a page before it: the delta
// after the walk does.
func (w *walk) suspend(page *feedBody) *Error {
	for _, each := range page.listed {
		if each.isSuspended {
			w.store.setSuspended(each.id, true)
		}
	}
	w.oddTenants = append(w.oddTenants, oddTenants(page.listed)...)
	if most := w.follower.settings.maxKeys; len(w.store.suspended) > most {
		return badResponse(fmt.Sprintf(
			"tenants, of which more are suspended than the %d keys that this node may hold", most))
	}
	return nil
}

// oddTenants are those whose member suspended cannot be read.
func oddTenants(listed []listedTenant) []string {
	var odd []string
	for _, each := range listed {
		if each.isUnreadable {
			odd = append(odd, each.id)
		}
	}
	return odd
}

func unreadableTenants(ids []string) *Error {
	problem := fmt.Sprintf("The tenant %s counts as suspended", shown(ids[0]))
	if len(ids) > 1 {
		problem = fmt.Sprintf("%d tenants count as suspended, such as %s", len(ids), shown(ids[0]))
	}
	return lasting("unreadable_key",
		problem+": suspended cannot be read. A newer version of this package may be able to read it")
}
