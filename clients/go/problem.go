package keyrail

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// problem is an error answer of the vendor's API: RFC 9457 problem details, with RFC 6750 challenges.
type problem struct {
	status int
	header http.Header
	body   problemBody
}

type problemBody struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	// Scopes are all required ones, with insufficient_scope.
	Scopes []string `json:"scopes,omitempty"`
}

// newProblem is never cached, because the next request may get another answer.
func newProblem(status int, code, detail string) *problem {
	return &problem{
		status: status,
		header: http.Header{"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"}},
		body: problemBody{
			Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code,
		},
	}
}

func (p *problem) serve(w http.ResponseWriter) {
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(textOf(p.body))
}

// In seconds. A node that has lost the service retries at least this often.
const retryAfterNode = "5"

// refusal answers a request whose key is refused. fault is what is wrong with the credential, or empty.
func refusal(code Code, scopes, headers []string, fault credentialFault) *problem {
	p := newProblem(code.Status(), string(code), detailOf(code, wayToSend(headers), fault))
	switch {
	case p.status == http.StatusServiceUnavailable:
		p.header.Set("Retry-After", retryAfterNode)
	case code == IPUnknown || code == IPNotAllowed:
		// No challenge: the key is right, and its place is not.
	default:
		p.header.Set("WWW-Authenticate", challenge(code, scopes))
	}
	if code == InsufficientScope {
		p.body.Scopes = scopes
	}
	return p
}

var scopeInHeader = regexp.MustCompile(`^[\x21\x23-\x5b\x5d-\x7e]+$`)

// challenge has no error without credentials (RFC 6750 §3.1).
func challenge(code Code, scopes []string) string {
	switch code {
	case MissingKey:
		return "Bearer"
	case InsufficientScope:
		var named []string
		for _, scope := range scopes {
			// Scopes with characters that a header cannot carry are only in the body.
			if scopeInHeader.MatchString(scope) {
				named = append(named, scope)
			}
		}
		if len(named) == 0 {
			return `Bearer error="insufficient_scope"`
		}
		return fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s"`, strings.Join(named, " "))
	}
	return `Bearer error="invalid_token"`
}

func detailOf(code Code, way string, fault credentialFault) string {
	switch {
	case fault == sentTwice:
		return string(fault)
	case fault != "":
		return string(fault) + ": " + way
	case code == MissingKey:
		return code.Message() + ": " + way
	}
	return code.Message()
}

func wayToSend(headers []string) string {
	ways := make([]string, len(headers))
	for at, header := range headers {
		ways[at] = "in the header " + header
		if header == "authorization" {
			ways[at] = `as "Authorization: Bearer <key>"`
		}
	}
	return "send it " + strings.Join(ways, " or ")
}

// limitProblem answers a request that its limits do not allow.
func limitProblem(verdict *LimitVerdict) *problem {
	var p *problem
	switch verdict.Code {
	case RateLimited:
		p = newProblem(verdict.Status(), string(verdict.Code),
			"The API key has used up its limit "+quoted(verdict.DeniedBy))
	case LimitsUnavailable:
		p = newProblem(verdict.Status(), string(verdict.Code), "The limits of the API key cannot be checked now")
	default:
		// A mistake in the vendor's code. The customer cannot act on it; OnError has the details.
		p = newProblem(http.StatusInternalServerError, "internal_error", "This API is misconfigured; see its log")
	}
	for name, values := range verdict.Headers {
		p.header[name] = values
	}
	return p
}

func quoted(ids []string) string {
	texts := make([]string, len(ids))
	for at, id := range ids {
		texts[at] = `"` + id + `"`
	}
	return strings.Join(texts, ", ")
}
