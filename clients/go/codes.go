package keyrail

// A Code is the reason of a verdict. Codes are for programs and never change their meaning.
type Code string

// The codes of verdicts. If several reasons to refuse apply, the verdict is the first of them in this list.
const (
	Valid             Code = "valid"
	MissingKey        Code = "missing_key"
	MalformedKey      Code = "malformed_key"
	WrongEnv          Code = "wrong_env"
	NotReady          Code = "not_ready"
	Stale             Code = "stale"
	NotHeld           Code = "not_held"
	UnknownKey        Code = "unknown_key"
	RevokedKey        Code = "revoked_key"
	DisabledKey       Code = "disabled_key"
	SuspendedTenant   Code = "suspended_tenant"
	ExpiredKey        Code = "expired_key"
	TooOld            Code = "too_old"
	IPUnknown         Code = "ip_unknown"
	IPNotAllowed      Code = "ip_not_allowed"
	InsufficientScope Code = "insufficient_scope"
)

var messages = map[Code]string{
	Valid:             "The API key is valid",
	MissingKey:        "No API key was presented",
	MalformedKey:      "This is not an API key: its form or its checksum is wrong",
	WrongEnv:          "The API key belongs to the other environment",
	NotReady:          "No keys are loaded, so none can be verified",
	Stale:             "The API keys held here were not confirmed recently enough",
	NotHeld:           "The API key is not held here, and not all keys are",
	UnknownKey:        "The API key is unknown or revoked",
	RevokedKey:        "The API key has been revoked",
	DisabledKey:       "The API key is disabled",
	SuspendedTenant:   "The account that the API key belongs to is suspended",
	ExpiredKey:        "The API key has expired",
	TooOld:            "The API key is older than its project allows",
	IPUnknown:         "The API key is restricted to networks, and the address of the caller is not known",
	IPNotAllowed:      "The API key may not be used from this address",
	InsufficientScope: "The API key lacks a required scope",
}

// Message says for people what the code means; the same for every key with this code.
func (c Code) Message() string { return messages[c] }

// Status is the status with which a request is answered: 200 for a valid key, else 401, 403 or 503.
func (c Code) Status() int {
	switch c {
	case Valid:
		return 200
	case IPUnknown, IPNotAllowed, InsufficientScope:
		return 403
	case NotReady, Stale, NotHeld:
		return 503
	}
	return 401
}

// codeByCause has the verdict on a key that has ended, by the cause of its tombstone.
var codeByCause = map[string]Code{
	"revoked":   RevokedKey,
	"expired":   ExpiredKey,
	"deleted":   RevokedKey,
	"disabled":  DisabledKey,
	"suspended": SuspendedTenant,
}
