package keyrail

import (
	"strconv"
	"strings"
)

// tenant is a tenant of the keys held, and how many of them it has. A tenant without keys is forgotten.
type tenant struct {
	id, externalID string
	hasExternalID  bool
	keys           int
}

// shared numbers values that many records share, such as tenant ids or lists of scopes, so that a record
// holds only the number. Each value is kept once.
type shared struct {
	tenants []tenant
	scopes  [][]string
	// limits begin with nil: number 0 is no limits.
	limits []*limits

	tenantNumbers, scopeNumbers, limitNumbers map[string]uint32
}

func newShared() *shared {
	return &shared{
		limits:        []*limits{nil},
		tenantNumbers: map[string]uint32{},
		scopeNumbers:  map[string]uint32{},
		limitNumbers:  map[string]uint32{},
	}
}

func (s *shared) size() int { return len(s.tenants) + len(s.scopes) + len(s.limits) }

func (s *shared) tenant(id string) uint32 {
	number, isKnown := s.tenantNumbers[id]
	if !isKnown {
		number = uint32(len(s.tenants))
		s.tenants = append(s.tenants, tenant{id: id})
		s.tenantNumbers[id] = number
	}
	return number
}

func (s *shared) scopeList(scopes []string) uint32 {
	name := nameOfList(scopes)
	number, isKnown := s.scopeNumbers[name]
	if !isKnown {
		number = uint32(len(s.scopes))
		// A copy, cut to its length: what a caller appends to it goes elsewhere.
		own := append([]string{}, scopes...)
		s.scopes = append(s.scopes, own[:len(own):len(own)])
		s.scopeNumbers[name] = number
	}
	return number
}

func (s *shared) limitSet(set *limits) uint32 {
	if set == nil {
		return 0
	}
	number, isKnown := s.limitNumbers[set.text]
	if !isKnown {
		number = uint32(len(s.limits))
		s.limits = append(s.limits, set)
		s.limitNumbers[set.text] = number
	}
	return number
}

// nameOfList is different for different lists.
func nameOfList(texts []string) string {
	var name strings.Builder
	for _, text := range texts {
		name.WriteString(strconv.Itoa(len(text)))
		name.WriteByte(':')
		name.WriteString(text)
	}
	return name.String()
}

// leave forgets a tenant with its last key.
func (s *shared) leave(number uint32) {
	each := &s.tenants[number]
	each.keys--
	if each.keys == 0 {
		each.externalID, each.hasExternalID = "", false
	}
}

// setTenant sets what the service said of a tenant. Call it before the keys of the same answer, and prune
// after them.
func (s *shared) setTenant(named namedTenant) {
	each := &s.tenants[s.tenant(named.id)]
	each.externalID, each.hasExternalID = named.externalID, named.hasExternalID
}

// prune forgets every named tenant to which no key belongs.
func (s *shared) prune(named []namedTenant) {
	for _, each := range named {
		number, isKnown := s.tenantNumbers[each.id]
		if isKnown && s.tenants[number].keys == 0 {
			s.tenants[number] = tenant{id: each.id}
		}
	}
}
