package keyrail

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"time"
	"unicode/utf8"
)

// members are the members of a JSON object. Not a struct, because encoding/json would accept its names in any
// case.
type members map[string]json.RawMessage

// readMembers is false for anything but an object.
func readMembers(raw []byte) (members, bool) {
	var read members
	if json.Unmarshal(raw, &read) != nil || read == nil {
		return nil, false
	}
	return read, true
}

// readList is false for anything but an array.
func readList(raw json.RawMessage) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, false
	}
	return list, true
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func readString(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err == nil
}

// readText reads a text of 1 to 200 characters.
func readText(raw json.RawMessage) (string, bool) {
	text, ok := readString(raw)
	return text, ok && text != "" && utf8.RuneCountInString(text) <= 200
}

func readTexts(raw json.RawMessage) ([]string, bool) {
	list, ok := readList(raw)
	if !ok {
		return nil, false
	}
	texts := make([]string, len(list))
	for at, each := range list {
		if texts[at], ok = readString(each); !ok {
			return nil, false
		}
	}
	return texts, true
}

func readBool(raw json.RawMessage) (value, ok bool) {
	return string(raw) == "true", string(raw) == "true" || string(raw) == "false"
}

func readNumber(raw json.RawMessage) (float64, bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	var number float64
	err := json.Unmarshal(raw, &number)
	return number, err == nil
}

const safeMax = 1<<53 - 1

// readCount reads an integer from 0 to 2^53 - 1.
func readCount(raw json.RawMessage) (int64, bool) {
	number, ok := readNumber(raw)
	if !ok || number != math.Trunc(number) || number < 0 || number > safeMax {
		return 0, false
	}
	return int64(number), true
}

const dateShape = "0000-00-00T00:00:00"

// readTime reads a complete RFC 3339 timestamp in milliseconds since the epoch; NaN if it is none. One
// without a zone would be read in the zone of this machine.
func readTime(raw json.RawMessage) float64 {
	text, ok := readString(raw)
	if !ok || len(text) <= len(dateShape) {
		return math.NaN()
	}
	for at := range dateShape {
		isDigit := text[at] >= '0' && text[at] <= '9'
		if isDigit != (dateShape[at] == '0') || !isDigit && text[at] != dateShape[at] {
			return math.NaN()
		}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return math.NaN()
	}
	return float64(at.UnixMilli())
}

// A digest is the SHA-256 of a key.
type digest [32]byte

// readDigest reads a lookup_hash of the feed: padded base64 of 44 characters.
func readDigest(raw json.RawMessage) (read digest, ok bool) {
	text, ok := readString(raw)
	if !ok || len(text) != 44 {
		return read, false
	}
	bytes, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(bytes) != len(read) || base64.StdEncoding.EncodeToString(bytes) != text {
		return read, false
	}
	copy(read[:], bytes)
	return read, true
}

// isShallow says whether a JSON text has at most this many levels of objects and lists.
func isShallow(raw []byte, levels int) bool {
	depth := 0
	inText := false
	for at := 0; at < len(raw); at++ {
		switch c := raw[at]; {
		case inText && c == '\\':
			at++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > levels {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// compact is the JSON text without white space.
func compact(raw json.RawMessage) string {
	var into bytes.Buffer
	if json.Compact(&into, raw) != nil {
		return ""
	}
	return into.String()
}

// textOf is JSON as JavaScript writes it: without escapes for HTML.
func textOf(value any) []byte {
	var into bytes.Buffer
	encoder := json.NewEncoder(&into)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return nil
	}
	return bytes.TrimSuffix(into.Bytes(), []byte("\n"))
}

// newUUID draws an id of version 4.
func newUUID() string {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		panic("keyrail: no random numbers: " + err.Error())
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
