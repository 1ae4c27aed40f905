package keyrail

import (
	"encoding/binary"
	"sync/atomic"
	"unicode/utf16"
)

// keyIDs are key ids by slot in 16 bytes each, because the service's ids are UUIDs. An id becomes a text when
// its key is first verified. The feed allows other ids, which are kept as texts.
type keyIDs struct {
	words [][16]byte
	// texts are set while others read, so each is set at once.
	texts []atomic.Pointer[string]
	// others are ids that are not UUIDs in lower case.
	others map[uint32]string
}

func (k *keyIDs) reserve(capacity int) {
	words := make([][16]byte, len(k.words), capacity)
	copy(words, k.words)
	texts := make([]atomic.Pointer[string], len(k.texts), capacity)
	for at := range k.texts {
		texts[at].Store(k.texts[at].Load())
	}
	k.words, k.texts = words, texts
}

// grow adds a slot, within the capacity.
func (k *keyIDs) grow() {
	k.words = k.words[:len(k.words)+1]
	k.texts = k.texts[:len(k.texts)+1]
}

func (k *keyIDs) set(slot uint32, id string) {
	sought := seekID(id)
	k.words[slot] = sought.words
	if sought.other != "" {
		if k.others == nil {
			k.others = map[uint32]string{}
		}
		k.others[slot] = id
	}
}

func (k *keyIDs) clear(slot uint32) {
	k.texts[slot].Store(nil)
	delete(k.others, slot)
}

func (k *keyIDs) text(slot uint32) string {
	if known := k.texts[slot].Load(); known != nil {
		return *known
	}
	text, isOther := k.others[slot]
	if !isOther {
		text = uuidText(k.words[slot])
	}
	k.texts[slot].Store(&text)
	return text
}

func (k *keyIDs) hash(slot uint32) uint32 { return hashOfID(k.words[slot]) }

// soughtID is an id to look for. other is empty if it is a UUID.
type soughtID struct {
	words [16]byte
	other string
}

func seekID(id string) soughtID {
	if words, ok := readUUID(id); ok {
		return soughtID{words: words}
	}
	// The hash of the SDK for JavaScript, because the disk snapshot has it in place of the words.
	hash := uint32(0)
	for _, code := range utf16.Encode([]rune(id)) {
		hash = (hash ^ uint32(code)) * 0x01000193
	}
	sought := soughtID{other: id}
	binary.BigEndian.PutUint32(sought.words[:], hash)
	return sought
}

// is: an id of another form is never equal to a UUID, even if their words are.
func (k *keyIDs) is(slot uint32, sought *soughtID) bool {
	return k.words[slot] == sought.words && k.others[slot] == sought.other
}

// hashOfID mixes all bits: ids of one time differ in few. They come from the service, so attackers cannot
// choose them to collide.
func hashOfID(words [16]byte) uint32 {
	mixed := binary.LittleEndian.Uint64(words[:8])*3 ^ binary.LittleEndian.Uint64(words[8:])
	mixed = (mixed ^ mixed>>33) * 0xff51afd7ed558ccd
	return uint32(mixed ^ mixed>>33)
}

const hexDigits = "0123456789abcdef"

// uuidPlaces are the positions of the first digit of each byte in the text of a UUID.
var uuidPlaces = [16]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34}

// readUUID reads a UUID in lower case.
func readUUID(text string) (bytes [16]byte, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return bytes, false
	}
	for at, place := range uuidPlaces {
		high, low := hexValue(text[place]), hexValue(text[place+1])
		if high > 15 || low > 15 {
			return bytes, false
		}
		bytes[at] = high<<4 | low
	}
	return bytes, true
}

func hexValue(digit byte) byte {
	switch {
	case digit >= '0' && digit <= '9':
		return digit - '0'
	case digit >= 'a' && digit <= 'f':
		return digit - 'a' + 10
	}
	return 255
}

func uuidText(bytes [16]byte) string {
	text := [36]byte{8: '-', 13: '-', 18: '-', 23: '-'}
	for at, place := range uuidPlaces {
		text[place], text[place+1] = hexDigits[bytes[at]>>4], hexDigits[bytes[at]&15]
	}
	return string(text[:])
}
