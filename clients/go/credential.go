package keyrail

import (
	"net/http"
	"regexp"
	"strings"
)

// credentialFault says what is wrong with the credential that was sent.
type credentialFault string

const (
	sentTwice       credentialFault = "More than one API key was presented: send one"
	sentOtherScheme credentialFault = "The API key was not sent as Bearer"
	sentNoScheme    credentialFault = "The API key was sent without the word Bearer"
	sentBadForm     credentialFault = "No API key follows the word Bearer"
)

var (
	bearer       = regexp.MustCompile(`^(?i:Bearer) +([\x21-\x7e]+) *$`)
	bearerAtAll  = regexp.MustCompile(`^(?i:Bearer)\b`)
	anyOtherWord = regexp.MustCompile(`^\S+ +\S`)
)

// credentialIn finds the API key in a header. authorization holds Bearer <key> (RFC 6750), any other header
// the bare key. With a fault, the credential cannot be a key. found is false if none was sent.
func credentialIn(headers http.Header, name string) (key string, fault credentialFault, found bool) {
	values := headers.Values(name)
	if len(values) == 0 {
		return "", "", false
	}
	if len(values) > 1 {
		return "", sentTwice, true
	}
	value := values[0]
	if name != "authorization" {
		return strings.TrimSpace(value), "", true
	}
	if parts := bearer.FindStringSubmatch(value); parts != nil {
		return parts[1], "", true
	}
	switch {
	case bearerAtAll.MatchString(value) && strings.Contains(value, ","):
		return "", sentTwice, true
	case bearerAtAll.MatchString(value):
		return "", sentBadForm, true
	case anyOtherWord.MatchString(strings.TrimSpace(value)):
		return "", sentOtherScheme, true
	}
	return "", sentNoScheme, true
}

// credentialOf takes the first of the headers with a key. A header with another scheme may serve another
// purpose, so the key may be in the next one.
func credentialOf(headers http.Header, names []string) (key string, fault credentialFault) {
	hasFirst := false
	for _, name := range names {
		sent, wrong, found := credentialIn(headers, name)
		if sent != "" || wrong == sentTwice {
			return sent, wrong
		}
		if found && !hasFirst {
			key, fault, hasFirst = sent, wrong, true
		}
	}
	return key, fault
}
