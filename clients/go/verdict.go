package keyrail

import "time"

// A Verdict is the decision on a key. Without Code it is no verdict. It holds no secret and may be logged.
type Verdict struct {
	Code Code
	// The following are those of a valid key.
	KeyID    string
	TenantID string
	// ExternalID is your own id of the tenant; empty if the tenant has none.
	ExternalID string
	// Env is live or test.
	Env string
	// ExpiresAt is when the key expires or is too old; the zero time if it never ends.
	ExpiresAt time.Time
	// Meta is what you stored beside the key.
	Meta Meta

	scopes []string
	limits *limits
}

// IsValid says whether the key may be used. A verdict of any other code refuses it.
func (v Verdict) IsValid() bool { return v.Code == Valid }

// Message says for people what the code means; the same for every key with this code.
func (v Verdict) Message() string { return v.Code.Message() }

// Scopes returns the scopes of the key: a copy, which the caller may change.
func (v Verdict) Scopes() []string { return append([]string{}, v.scopes...) }

// HasScope says whether the key has the scope, compared exactly.
func (v Verdict) HasScope(scope string) bool { return contains(v.scopes, scope) }

// Limits returns the limits of the key, nil if it has none: a copy, which the caller may change.
func (v Verdict) Limits() []RateLimit {
	if v.limits == nil {
		return nil
	}
	list := make([]RateLimit, len(v.limits.rules))
	for at := range v.limits.rules {
		list[at] = v.limits.rules[at].RateLimit
	}
	return list
}

// Requirements are what a verification requires beyond a valid key.
type Requirements struct {
	// Scopes that the key must all have, compared exactly.
	Scopes []string
	// Env is live, test or both. Empty: that of Options. Any other text is met by no key.
	Env string
	// IP is the address of the caller, IPv4 or IPv6, without a port. A key that may be used from some networks
	// alone is refused without it; others do not read it.
	IP string
}
