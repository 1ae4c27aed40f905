package keyrail

import "encoding/json"

// importedFeature: with it, the feed has keys from elsewhere, and its answers say whether the project takes such
// keys.
const importedFeature = "imported"

// The most characters of a key from elsewhere.
const otherMax = 512

// isOtherForm says whether a key from elsewhere may have this form: 1 to 512 visible ASCII characters.
func isOtherForm(key string) bool {
	if len(key) == 0 || len(key) > otherMax {
		return false
	}
	for at := 0; at < len(key); at++ {
		if key[at] < 0x21 || key[at] > 0x7e {
			return false
		}
	}
	return true
}

// importing is what an answer says of keys from elsewhere.
type importing struct {
	accepts bool
	// isSaid: false for a process of before the feature.
	isSaid bool
	// isOdd: what it says cannot be read, and counts as absent.
	isOdd bool
}

func readImporting(raw json.RawMessage, isGiven bool, features []string) importing {
	accepts, isBool := readBool(raw)
	accepts = accepts && isBool
	return importing{accepts, accepts || contains(features, importedFeature), isGiven && !isBool}
}

// setAcceptsImported notes whether a text of any form may be a key.
func (s *store) setAcceptsImported(accepts bool) {
	if s.acceptsImported != accepts || s.isImportingUnknown {
		s.revision++
		s.acceptsImported, s.isImportingUnknown = accepts, false
	}
}

func unreadableImporting() *Error {
	return lasting("unreadable_key", "accepts_imported cannot be read, so keys from elsewhere are refused as "+
		"malformed. A newer version of this package may be able to read it")
}
