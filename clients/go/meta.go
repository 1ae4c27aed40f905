package keyrail

import (
	"encoding/json"
)

// A Meta is what you stored beside a key, as JSON text. It is empty if the service gave none, and null if it
// exceeds 2 KiB.
type Meta string

// Decode reads it into a map or struct, as encoding/json does. Without a meta it changes nothing.
func (m Meta) Decode(into any) error {
	if m == "" {
		return nil
	}
	return json.Unmarshal([]byte(m), into)
}

// Text returns the text with this name; empty if there is none, so compare with what you allow:
// meta.Text("plan") == "gold".
func (m Meta) Text(name string) string {
	fields, _ := readMembers([]byte(m))
	text, _ := readString(fields[name])
	return text
}

// blankMeta is that of most keys, which take no memory for it.
const blankMeta Meta = "{}"

func (s *store) setMeta(slot uint32, meta Meta) {
	switch meta {
	case blankMeta:
		s.hasBlank = true
		delete(s.metas, slot)
	case "":
		delete(s.metas, slot)
	default:
		s.metas[slot] = meta
	}
}

func (s *store) meta(slot uint32) Meta {
	if meta, isOwn := s.metas[slot]; isOwn {
		return meta
	}
	if s.hasBlank {
		return blankMeta
	}
	return ""
}
