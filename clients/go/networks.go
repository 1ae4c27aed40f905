package keyrail

import (
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"
)

// cidrFeature: with it, keys and listed tenants have the networks from which keys may be used.
const cidrFeature = "cidr"

// The most ranges in a list.
const networksMax = 32

// networks are the ranges from which a key may be used, or the keys of a tenant. nil: there is no list. A list
// without a range: from any address.
type networks struct {
	ranges []netip.Prefix
	// isUnreadable: the list of a tenant is new, so no address is in it.
	isUnreadable bool
}

// readNetworks is false if the list cannot be read.
func readNetworks(raw json.RawMessage) (*networks, bool) {
	texts, ok := readTexts(raw)
	if !ok || len(texts) > networksMax {
		return nil, false
	}
	read := &networks{ranges: make([]netip.Prefix, len(texts))}
	for at, text := range texts {
		if read.ranges[at], ok = readRange(text); !ok {
			return nil, false
		}
	}
	return read, true
}

// readRange reads 192.0.2.0/24. No bit may be set after the prefix. A range of mapped addresses is the range of
// IPv4.
func readRange(text string) (netip.Prefix, bool) {
	address, length, _ := strings.Cut(text, "/")
	first, ok := parseAddress(address)
	bits, err := strconv.Atoi(length)
	// ParsePrefix accepts a sign and leading zeros.
	if !ok || err != nil || strconv.Itoa(bits) != length || bits < 0 || bits > first.BitLen() {
		return netip.Prefix{}, false
	}
	read := netip.PrefixFrom(first, bits)
	if read.Masked() != read {
		return netip.Prefix{}, false
	}
	if first.Is4In6() && bits >= 96 {
		read = netip.PrefixFrom(first.Unmap(), bits-96)
	}
	return read, true
}

// readAddress reads the address of a caller. A zone says on which link of this machine the address is, so it is
// dropped. An IPv4-mapped address is the address of IPv4.
func readAddress(text string) (netip.Addr, bool) {
	if address, zone, hasZone := strings.Cut(text, "%"); hasZone {
		if !isZone(zone) || !strings.Contains(address, ":") {
			return netip.Addr{}, false
		}
		text = address
	}
	address, ok := parseAddress(text)
	return address.Unmap(), ok
}

func isZone(text string) bool {
	for at := 0; at < len(text); at++ {
		if text[at] <= ' ' || text[at] >= 0x7f || text[at] == '%' || text[at] == '/' {
			return false
		}
	}
	return text != ""
}

// parseAddress reads an address without a zone, and refuses groups of more than four digits, which ParseAddr
// accepts in some versions of Go.
func parseAddress(text string) (netip.Addr, bool) {
	digits := 0
	for at := 0; at < len(text); at++ {
		switch digits++; {
		case text[at] == ':' || text[at] == '.':
			digits = 0
		case text[at] == '%' || digits > 4:
			return netip.Addr{}, false
		}
	}
	address, err := netip.ParseAddr(text)
	return address, err == nil
}

// code is empty if a key with this list may be used from the address.
func (n *networks) code(ip string) Code {
	switch {
	case n.isUnreadable:
		return IPNotAllowed
	case len(n.ranges) == 0:
		return ""
	}
	address, ok := readAddress(ip)
	if !ok {
		return IPUnknown
	}
	for _, each := range n.ranges {
		if each.Contains(address) {
			return ""
		}
	}
	return IPNotAllowed
}

func (n *networks) isSame(other *networks) bool {
	if n == nil || other == nil {
		return n == other
	}
	if n.isUnreadable != other.isUnreadable || len(n.ranges) != len(other.ranges) {
		return false
	}
	for at := range n.ranges {
		if n.ranges[at] != other.ranges[at] {
			return false
		}
	}
	return true
}

// texts are the ranges as the feed writes them.
func (n *networks) texts() []string {
	texts := make([]string, len(n.ranges))
	for at, each := range n.ranges {
		texts[at] = each.String()
	}
	return texts
}

// networksOf are the key's own, or else those of its tenant; nil: it has none.
func (s *store) networksOf(slot uint32) *networks {
	if len(s.keyNetworks) > 0 {
		if own, isOwn := s.keyNetworks[slot]; isOwn {
			return own
		}
	}
	if len(s.tenantNetworks) > 0 {
		return s.tenantNetworks[s.shared.tenants[s.records[slot].tenant].id]
	}
	return nil
}

// keepNetworks gives a key the list of its own that it has here. A process of before the feature leaves lists
// out of its answers.
func (s *store) keepNetworks(key *storedKey) {
	if slot, ok := s.findID(key.keyID); ok && key.networks == nil {
		key.networks = s.keyNetworks[slot]
	}
}

func (s *store) setKeyNetworks(slot uint32, own *networks) {
	if own == nil {
		delete(s.keyNetworks, slot)
	} else {
		s.keyNetworks[slot] = own
	}
}

// setTenantNetworks notes from where keys of a tenant may be used that have no list of their own, also if it
// has no keys here.
func (s *store) setTenantNetworks(tenantID string, list *networks) {
	if s.tenantNetworks[tenantID].isSame(list) {
		return
	}
	s.revision++
	if list == nil {
		delete(s.tenantNetworks, tenantID)
	} else {
		s.tenantNetworks[tenantID] = list
	}
}
