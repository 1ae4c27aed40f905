package keyrail

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// readSecretKey returns the environment of the secret key.
func (s *settings) readSecretKey(option string) (string, error) {
	given, name, err := fromEnvironment("SecretKey", option, "KEYRAIL_SECRET_KEY")
	if err != nil {
		return "", err
	}
	env := ""
	if strings.HasPrefix(given, "krsk_") {
		env = envOfKey(given)
	}
	if env == "" {
		return "", fmt.Errorf("keyrail: %s %s", name, mistakeOf(given))
	}
	s.secretKey = given
	return env, nil
}

// krsk_live_ or krsk_test_, and 38 characters.
const secretKeyLen = 48

var (
	beginsWithBearer = regexp.MustCompile(`(?i)^bearer\b`)
	keyHead          = regexp.MustCompile(`^kr_(?:live|test)_`)
)

// mistakeOf says what a text is that is not a secret key. It shows no part of it.
func mistakeOf(given string) string {
	bare := strings.TrimSpace(given)
	switch {
	case bare == "":
		return "is empty"
	case bare != given:
		return "begins or ends with white space, such as a line feed: remove it"
	case beginsWithBearer.MatchString(given):
		return "begins with Bearer, which this package adds: remove it"
	case strings.ContainsAny(given[:1]+given[len(given)-1:], "\"'`"):
		return "is in quotation marks: remove them"
	case strings.HasPrefix(given, "krses_"):
		return "is a session token: create a secret key with it"
	case !strings.HasPrefix(given, "krsk_") && (envOfKey(given) != "" || keyHead.MatchString(given)):
		return "is an API key, as customers use: give a secret key (krsk_live_… or krsk_test_…)"
	case !strings.HasPrefix(given, "krsk_"):
		return "is not a Keyrail secret key (krsk_live_… or krsk_test_…)"
	case len(given) == secretKeyLen:
		return "has a wrong checksum: one of its characters was changed"
	}
	return fmt.Sprintf("has %d characters instead of %d: it was cut, or something was added to it",
		len(given), secretKeyLen)
}

const nodeMax = 128

var (
	nodeForm    = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)
	notOfNode   = regexp.MustCompile(`[^A-Za-z0-9._:-]`)
	forNodeName = strings.NewReplacer("/", "_", "+", ".")
)

func readNode(given string) (string, error) {
	if given == "" {
		host, _ := os.Hostname()
		return makeNode(host), nil
	}
	if !nodeForm.MatchString(given) {
		return "", errors.New("keyrail: Node must be 1 to 128 of A-Z a-z 0-9 . _ : -")
	}
	return given, nil
}

// makeNode names this process for the service: host, process id, and a random suffix, because process ids are
// reused.
func makeNode(host string) string {
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic("keyrail: no random numbers: " + err.Error())
	}
	suffix := fmt.Sprintf(":%d.%s", os.Getpid(), forNodeName.Replace(base64.StdEncoding.EncodeToString(random[:])))
	host = notOfNode.ReplaceAllString(host, "")
	if host == "" {
		host = "node"
	}
	if most := nodeMax - len(suffix); len(host) > most {
		host = host[:most]
	}
	return host + suffix
}
