package keyrail

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
)

// A LimitState is what is left of one limit of a key.
type LimitState struct {
	ID string
	// Remaining are the units that are left.
	Remaining int64
	// ResetMs is the time until the window ends, in milliseconds.
	ResetMs int64
}

// checkAnswer is the service's answer to a check of limits.
type checkAnswer struct {
	isAllowed bool
	// deniedBy are the ids of the limits that the request does not fit.
	deniedBy []string
	// retryAfterMs is the time until the request would fit, if nothing else is spent; infinite: never; NaN:
	// the answer does not say.
	retryAfterMs float64
	// headers have names in lower case.
	headers map[string]string
	// states are in the order of the rules; nil if the service does not send them.
	states []LimitState
}

var headerValue = regexp.MustCompile(`^[\x20-\x7e]+$`)

func readCheck(text []byte, rules []rule) (*checkAnswer, *Error) {
	fields, _ := readMembers(text)
	if object, _ := readString(fields["object"]); object != "ratelimit_check" {
		return nil, badCheck("object")
	}
	headers, err := headersIn(fields["headers"])
	if err != nil {
		return nil, err
	}
	isAllowed, ok := readBool(fields["allowed"])
	if !ok {
		return nil, badCheck("allowed")
	}
	answer := &checkAnswer{
		isAllowed: isAllowed, headers: headers, states: statesIn(fields["limits"], rules),
		retryAfterMs: math.Inf(1),
	}
	if isAllowed {
		return answer, nil
	}
	if answer.deniedBy, ok = readTexts(fields["denied_by"]); !ok {
		return nil, badCheck("denied_by")
	}
	wait, isGiven := fields["retry_after_ms"]
	if !isGiven || !isNull(wait) {
		if answer.retryAfterMs, ok = readNumber(wait); !ok || !(answer.retryAfterMs > 0) {
			answer.retryAfterMs = math.NaN()
		}
	}
	return answer, nil
}

func headersIn(raw json.RawMessage) (map[string]string, *Error) {
	fields, _ := readMembers(raw)
	headers := map[string]string{}
	for name, lower := range map[string]string{
		"RateLimit-Policy": "ratelimit-policy", "RateLimit": "ratelimit", "Retry-After": "retry-after",
	} {
		value, isGiven := fields[name]
		if !isGiven && name == "Retry-After" {
			continue
		}
		text, ok := readString(value)
		if !ok || !headerValue.MatchString(text) {
			return nil, badCheck("headers." + name)
		}
		headers[lower] = text
	}
	return headers, nil
}

// statesIn is nil unless there is one for each rule.
func statesIn(raw json.RawMessage, rules []rule) []LimitState {
	list, ok := readList(raw)
	if !ok || len(list) != len(rules) {
		return nil
	}
	states := make([]LimitState, len(list))
	for at, each := range list {
		fields, _ := readMembers(each)
		id, _ := readString(fields["id"])
		remaining, hasRemaining := readCount(fields["remaining"])
		resetMs, hasReset := readCount(fields["reset_ms"])
		if id != rules[at].ID || !hasRemaining || !hasReset {
			return nil
		}
		states[at] = LimitState{id, remaining, resetMs}
	}
	return states
}

func badCheck(what string) *Error {
	return passing("bad_response", "The answer is not a rate-limit check: "+what)
}

// secondsUp are whole seconds, rounded up.
func secondsUp(ms float64) int64 { return int64(math.Ceil(ms / 1_000)) }

// retryAfterHeader is for a known time; at least a second.
func retryAfterHeader(ms float64) string { return fmt.Sprint(int64(math.Max(1, math.Ceil(ms/1_000)))) }
