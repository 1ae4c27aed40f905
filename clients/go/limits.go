package keyrail

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A RateLimit is one limit of a key. One of a kind that this version does not know may lack fields; the
// service judges it.
type RateLimit struct {
	ID     string
	Limit  int64
	Window time.Duration
	// Algorithm is sliding or fixed.
	Algorithm string
	// Scope is key, or tenant if all keys of the tenant count together.
	Scope string
}

// rule is one limit of a key as the service sent it.
type rule struct {
	RateLimit
	// text is its JSON, with all fields that the service sent.
	text string
}

// limits are the effective limits of a key, shared by all keys with the same ones. At least one.
type limits struct {
	rules []rule
	// text is the JSON list.
	text string
}

// Limits are flat. A value deeper than this is not a limit, also not of a newer service.
const limitDepthMax = 4

// readLimits reads the limits of a key in the feed: nil if it has none, false if they are invalid.
func readLimits(raw json.RawMessage) (*limits, bool) {
	if isNull(raw) {
		return nil, true
	}
	list, ok := readList(raw)
	if !ok {
		return nil, false
	}
	if len(list) == 0 {
		return nil, true
	}
	rules := make([]rule, len(list))
	texts := make([]string, len(list))
	for at, each := range list {
		if !isObject(each) || !isShallow(each, limitDepthMax) {
			return nil, false
		}
		rules[at] = ruleOf(each)
		texts[at] = rules[at].text
	}
	return &limits{rules: rules, text: "[" + strings.Join(texts, ",") + "]"}, true
}

func ruleOf(raw json.RawMessage) rule {
	fields, _ := readMembers(raw)
	read := rule{text: canonical(raw)}
	read.ID, _ = readString(fields["id"])
	read.Limit, _ = readCount(fields["limit"])
	window, _ := readCount(fields["window_ms"])
	read.Window = time.Duration(window) * time.Millisecond
	read.Algorithm, _ = readString(fields["algorithm"])
	read.Scope, _ = readString(fields["scope"])
	return read
}

type member struct {
	name  string
	value string
}

// canonical writes a rule as the SDK for JavaScript would, with its names on the wire: each list is numbered
// by its text, also in the disk snapshot, and two programs that disagree about which are equal would give
// keys the limits of others.
func canonical(raw json.RawMessage) string {
	parts := canonicalMembers(json.NewDecoder(bytes.NewReader(raw)))
	names := map[string]bool{}
	for _, part := range parts {
		names[part.name] = true
	}
	for at := range parts {
		if parts[at].name == "windowMs" && !names["window_ms"] {
			parts[at].name = "window_ms"
		}
	}
	return objectOf(parts)
}

func canonicalMembers(from *json.Decoder) []member {
	from.UseNumber()
	// The opening brace.
	if _, err := from.Token(); err != nil {
		return nil
	}
	return membersFrom(from)
}

var indexName = regexp.MustCompile(`^(?:0|[1-9]\d{0,9})$`)

// membersFrom reads up to the closing brace: a name that comes twice has its first place and its last value,
// and names that are numbers come first.
func membersFrom(from *json.Decoder) []member {
	var parts []member
	places := map[string]int{}
	for from.More() {
		token, err := from.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return parts
		}
		value := valueFrom(from)
		if place, isKnown := places[name]; isKnown {
			parts[place].value = value
			continue
		}
		places[name] = len(parts)
		parts = append(parts, member{name, value})
	}
	_, _ = from.Token()
	sort.SliceStable(parts, func(one, other int) bool {
		first, isIndex := indexOf(parts[one].name)
		second, isOtherIndex := indexOf(parts[other].name)
		return isIndex && (!isOtherIndex || first < second)
	})
	return parts
}

func indexOf(name string) (int64, bool) {
	if !indexName.MatchString(name) {
		return 0, false
	}
	index, err := strconv.ParseInt(name, 10, 64)
	return index, err == nil && index < math.MaxUint32
}

func valueFrom(from *json.Decoder) string {
	token, err := from.Token()
	if err != nil {
		return "null"
	}
	switch value := token.(type) {
	case json.Delim:
		if value == '{' {
			return objectOf(membersFrom(from))
		}
		var list []string
		for from.More() {
			list = append(list, valueFrom(from))
		}
		_, _ = from.Token()
		return "[" + strings.Join(list, ",") + "]"
	case json.Number:
		return numberText(value.String())
	case nil:
		return "null"
	default:
		return string(textOf(value))
	}
}

func objectOf(parts []member) string {
	texts := make([]string, len(parts))
	for at, part := range parts {
		texts[at] = string(textOf(part.name)) + ":" + part.value
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// numberText is the same for equal numbers.
func numberText(text string) string {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(number, 0) {
		return "null"
	}
	return string(textOf(number + 0))
}
