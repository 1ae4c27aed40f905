package keyrail

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"sort"
	"strings"
	"time"
)

// Options say which keys to hold and how to reach the service. The zero value takes all from the environment.
type Options struct {
	// URL is the address of the Keyrail service, such as https://keys.example.com. Default: KEYRAIL_URL.
	URL string
	// SecretKey is a secret key (krsk_…) of the preset node. Sent only to URL. Default: KEYRAIL_SECRET_KEY.
	SecretKey string
	// Project is the id of the project whose keys are verified. Default: KEYRAIL_PROJECT.
	Project string
	// Env says which keys are accepted: live, test or both. Default: that of the secret key.
	Env string
	// Tenants are ids: only the keys of these are held, at most 50. Empty: all keys of the project.
	Tenants []string
	// CacheDir is a directory for a copy of the keys, so that the next process can serve at once. Default:
	// none.
	CacheDir string
	// CachedTTL is how long keys are served without being confirmed. Default and maximum: 60 s.
	CachedTTL time.Duration
	// PollInterval is how often to ask for changes if the service does not hold its answers. Default: 5 s.
	PollInterval time.Duration
	// MaxKeys is how many keys may be held, 1 to 10,000,000. Default: 1,000,000.
	MaxKeys int
	// OnError receives every error outside of a request. It must not block, and must not call Close. Default:
	// the first of each code is logged.
	OnError func(*Error)
	// HTTPClient makes the calls. Default: one with the proxy of the environment. Its CheckRedirect and Jar
	// are not used.
	HTTPClient *http.Client
	// Insecure allows http to other machines, where anyone on the network can read the secret key.
	Insecure bool
	// Node is the name of this process, unique in the fleet. Default: host name, process id and a random
	// suffix. With a name of your own, Close does not tell the service that this node has stopped.
	Node string
	// LimitTimeout is how long a check of limits may take. Default: 1 s.
	LimitTimeout time.Duration
	// AllowUnchecked lets requests pass, uncounted, while the service cannot check limits. Default: they are
	// answered with 503.
	AllowUnchecked bool
	// ReportInterval is how often counts of requests are sent. Default: 10 s.
	ReportInterval time.Duration
}

// settings are the options, read, checked and completed.
type settings struct {
	// base is the address of the service without a slash at its end, origin its scheme, host and port.
	base, origin   string
	secretKey      string
	scope          scope
	cacheDir       string
	cachedTTLMs    float64
	pollIntervalMs float64
	maxKeys        int
	onError        func(*Error)
	client         *http.Client
	node           string
	// tellsEnd: the node tells the service that it has stopped. Not with keys on a disk, which the next process
	// serves before its first answer; nor with a name that another process may have too.
	tellsEnd       bool
	limitTimeoutMs float64
	allowUnchecked bool
	reportMs       float64
}

const day = 24 * time.Hour

// readOptions returns an error that names the wrong option. It never shows the secret key.
func readOptions(given Options) (*settings, error) {
	s := &settings{cacheDir: given.CacheDir, onError: given.OnError, client: given.HTTPClient,
		allowUnchecked: given.AllowUnchecked}
	if err := s.readURL(given.URL, given.Insecure); err != nil {
		return nil, err
	}
	keyEnv, err := s.readSecretKey(given.SecretKey)
	if err != nil {
		return nil, err
	}
	if s.scope.env, err = readEnv(given.Env, keyEnv); err != nil {
		return nil, err
	}
	if s.scope.project, err = readProject(given.Project); err != nil {
		return nil, err
	}
	if s.scope.tenants, err = readTenants(given.Tenants); err != nil {
		return nil, err
	}
	for _, each := range []struct {
		name                   string
		given, or, least, most time.Duration
		into                   *float64
	}{
		{"PollInterval", given.PollInterval, 5 * time.Second, 100 * time.Millisecond, day, &s.pollIntervalMs},
		// At most 60 s: the service assumes that a node without a request for 90 s serves no keys.
		{"CachedTTL", given.CachedTTL, time.Minute, 100 * time.Millisecond, time.Minute, &s.cachedTTLMs},
		{"LimitTimeout", given.LimitTimeout, time.Second, time.Millisecond, time.Minute, &s.limitTimeoutMs},
		{"ReportInterval", given.ReportInterval, 10 * time.Second, 100 * time.Millisecond, time.Hour, &s.reportMs},
	} {
		if *each.into, err = readDuration(each.name, each.given, each.or, each.least, each.most); err != nil {
			return nil, err
		}
	}
	if s.cachedTTLMs <= s.pollIntervalMs {
		return nil, errors.New("keyrail: CachedTTL must be greater than PollInterval")
	}
	if s.maxKeys = given.MaxKeys; s.maxKeys == 0 {
		s.maxKeys = 1_000_000
	}
	if s.maxKeys < 1 || s.maxKeys > 10_000_000 {
		return nil, errors.New("keyrail: MaxKeys must be from 1 to 10,000,000")
	}
	if strings.ContainsRune(s.cacheDir, 0) {
		return nil, errors.New("keyrail: CacheDir must be the path of a directory")
	}
	s.tellsEnd = given.Node == "" && given.CacheDir == ""
	s.node, err = readNode(given.Node)
	return s, err
}

func readDuration(name string, given, or, least, most time.Duration) (float64, error) {
	if given == 0 {
		given = or
	}
	if given < least || given > most {
		return 0, fmt.Errorf("keyrail: %s must be from %v to %v", name, least, most)
	}
	return milliseconds(given), nil
}

// fromEnvironment returns the option, or else the variable, and the name of the one that was given. Empty
// ones are unset.
func fromEnvironment(option, given, variable string) (value, name string, err error) {
	if given != "" {
		return given, option, nil
	}
	if set := os.Getenv(variable); set != "" {
		return set, variable, nil
	}
	return "", "", fmt.Errorf("keyrail: %s is not given, and %s is not set", option, variable)
}

// Hosts that always mean this machine.
var loopback = regexp.MustCompile(`^(?:localhost|[\w.-]+\.localhost|127(?:\.\d+){3}|::1)$`)

var versionPath = regexp.MustCompile(`/v1/*$`)

func (s *settings) readURL(option string, insecure bool) error {
	given, name, err := fromEnvironment("URL", option, "KEYRAIL_URL")
	if err != nil {
		return err
	}
	address, err := url.Parse(given)
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Hostname() == "" {
		return fmt.Errorf("keyrail: %s must be an http or https address, such as https://keys.example.com", name)
	}
	if address.User != nil || address.RawQuery != "" || address.Fragment != "" {
		return fmt.Errorf("keyrail: %s must have no user, query or fragment", name)
	}
	if versionPath.MatchString(address.Path) {
		return fmt.Errorf("keyrail: %s ends in /v1, which this package adds: leave it out", name)
	}
	host := strings.ToLower(address.Hostname())
	if address.Scheme == "http" && !insecure && !loopback.MatchString(host) {
		return fmt.Errorf("keyrail: %s is http, and %s is not this machine: anyone on the network could read "+
			"the secret key. Use https, or set Insecure on a network that you trust", name, host)
	}
	// As the SDK for JavaScript writes it: with another text each would refuse the disk snapshot of the
	// other.
	port := address.Port()
	if address.Scheme == "http" && port == "80" || address.Scheme == "https" && port == "443" {
		port = ""
	}
	switch {
	case port != "":
		host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	path := address.EscapedPath()
	if path == "" {
		path = "/"
	}
	s.origin = address.Scheme + "://" + host
	s.scope.service = s.origin + path
	s.base = strings.TrimRight(s.scope.service, "/")
	return nil
}

func readEnv(given, keyEnv string) (string, error) {
	switch given {
	case "":
		return keyEnv, nil
	case "live", "test", "both":
		if keyEnv == "test" && given != "test" {
			return "", fmt.Errorf("keyrail: a test secret key cannot see Env %s: give a live one, or leave Env out", given)
		}
		return given, nil
	}
	return "", errors.New("keyrail: Env must be live, test or both")
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func isUUID(text string) bool { return uuidForm.MatchString(strings.ToLower(text)) }

func readProject(option string) (string, error) {
	given, name, err := fromEnvironment("Project", option, "KEYRAIL_PROJECT")
	if err == nil && !isUUID(given) {
		err = fmt.Errorf("keyrail: %s must be a uuid", name)
	}
	return strings.ToLower(given), err
}

func readTenants(given []string) ([]string, error) {
	read := []string{}
	for at, each := range given {
		id := strings.ToLower(each)
		if !isUUID(id) {
			return nil, fmt.Errorf("keyrail: Tenants[%d] must be a uuid", at)
		}
		if !contains(read, id) {
			read = append(read, id)
		}
	}
	if len(read) > 50 {
		return nil, errors.New("keyrail: Tenants takes at most 50 tenants")
	}
	sort.Strings(read)
	return read, nil
}
