package keyrail

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Every failure of an exchange becomes an Error. Foreign texts are cut, and never contain the secret key.

const detailMax = 300

var (
	codeForm      = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	requestIDForm = regexp.MustCompile(`^[\w.:-]{1,128}$`)
	docURLForm    = regexp.MustCompile(`^https?://[\w.:\[\]/-]{1,200}$`)
)

// problemError is about an unexpected status, with the contents of its problem document (RFC 9457).
func (c *caller) problemError(what string, response *http.Response, text []byte) *Error {
	// Before cutting, which could leave half a secret.
	clean := func(text string) string { return strings.ReplaceAll(text, c.secretKey, "[secret key]") }
	problem, _ := readMembers([]byte(clean(string(text))))
	status := response.StatusCode
	given := matching(problem, "code", codeForm)
	code := given
	if given == "" {
		code = fmt.Sprintf("http_%d", status)
	}
	message := fmt.Sprintf("%s was answered %d %s", what, status, code)
	if detail, ok := readString(problem["detail"]); ok {
		message += ": " + cut(detail, detailMax)
	}
	if given == "" {
		message += " by " + c.origin + ", which is not a Keyrail error"
	}
	requestID := matching(problem, "request_id", requestIDForm)
	if header := clean(response.Header.Get("X-Request-Id")); requestID == "" && requestIDForm.MatchString(header) {
		requestID = header
	}
	return &Error{
		Code:      code,
		Message:   message,
		Status:    status,
		RequestID: requestID,
		DocURL:    matching(problem, "type", docURLForm),
		// Without a code, something in front of the service refused, such as a proxy that cannot reach it.
		Retryable:  given == "" || status >= 500 || status == 408 || status == 425 || status == 429,
		RetryAfter: durationOf(readRetryAfter(response.Header.Get("Retry-After"), c.now())),
	}
}

func matching(fields members, name string, form *regexp.Regexp) string {
	text, ok := readString(fields[name])
	if !ok || !form.MatchString(text) {
		return ""
	}
	return text
}

func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most])
}

// networkError is about an exchange without an answer. Without the cause: what a transport returns may
// contain the request.
func networkError(what, origin string, err error) *Error {
	return passing("network_error", fmt.Sprintf("%s failed at %s: %s", what, origin, reasonOf(err)))
}

func reasonOf(err error) string {
	var unknownHost *net.DNSError
	var plain tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var errno syscall.Errno
	switch {
	case errors.As(err, &unknownHost):
		return "the host name cannot be resolved"
	// net/http has no type for an answer in HTTP before Go 1.22.
	case errors.As(err, &plain), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "it does not speak TLS: if it serves http, URL must say so"
	case errors.As(err, &authority), errors.As(err, &host), errors.As(err, &invalid):
		return "its certificate is not trusted or belongs to another host"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "it closed the connection: if it serves https, URL must say so"
	case errors.As(err, &errno):
		return errno.Error()
	}
	return "no reason given"
}

// isTimeoutOf: a client of the vendor may have a timeout of its own.
func isTimeoutOf(client *http.Client, err error) bool {
	return client.Timeout > 0 && os.IsTimeout(err)
}

func abortedError(what string) *Error { return lasting("aborted", what+" was aborted by its caller") }

func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// redirectedError shows only the host of the target, because its path and query may hold a secret.
func redirectedError(what, location, origin string) *Error {
	target := ""
	if to, err := url.Parse(location); err == nil && to.Host != "" && location != "" {
		scheme := to.Scheme
		if scheme == "" {
			scheme, _, _ = strings.Cut(origin, ":")
		}
		target = " to " + scheme + "://" + to.Host
	}
	return passing("network_error",
		what+" was redirected"+target+", which this package does not follow: set URL to the service itself")
}

func pageError(what, origin string) *Error {
	return passing("bad_response", what+" was answered with an HTML page by "+origin+
		": a login page or proxy is in front of the service, or URL is wrong")
}

func tooLarge(maxBytes int64) *Error {
	return passing("response_too_large", fmt.Sprintf("The answer has more than %d bytes", maxBytes))
}
