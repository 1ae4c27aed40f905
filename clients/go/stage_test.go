package keyrail

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// What the tests share: keys, records of the feed, and a service that answers with what it was told.

const (
	testProject   = "01930c3e-8f5a-7c31-9b0e-00000000c000"
	testWorkspace = "01930c3e-8f5a-7c31-9b0e-00000000d000"
	testTenant    = "01930c3e-8f5a-7c31-9b0e-00000000a000"
	// 2027-01-01T00:00:00Z.
	testWall = 1_798_761_600_000
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func base62Of(number uint64, length int) string {
	text := make([]byte, length)
	for at := length - 1; at >= 0; at-- {
		text[at] = base62[number%62]
		number /= 62
	}
	return string(text)
}

// makeKey makes the key with this number.
func makeKey(head string, number int) string {
	text := head + base62Of(uint64(number), randomLen)
	return text + base62Of(uint64(crcOf(text)), checksumLen)
}

func liveKey(number int) string { return makeKey("kr_live_", number) }

func testSecretKey() string { return makeKey("krsk_live_", 1) }

func keyID(number int) string { return fmt.Sprintf("01930c3e-8f5a-7c31-9b0e-%012x", number) }

func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// record of the feed; more fields replace those given.
func feedKey(number int, more map[string]any) map[string]any {
	fields := map[string]any{
		"key_id": keyID(number), "tenant_id": testTenant, "env": "live", "lookup_hash": hashOf(liveKey(number)),
		"scopes": []string{"orders:read"}, "expires_at": nil, "meta": map[string]any{},
	}
	for name, value := range more {
		fields[name] = value
	}
	return fields
}

func feedHead(object string, version int) map[string]any {
	return map[string]any{
		"object": object, "workspace_id": testWorkspace, "project_id": testProject, "env": "live", "version": version,
		"project_deleted": false, "generated_at": "2027-01-01T00:00:00.000Z", "features": features,
		"tenants": []any{map[string]any{"tenant_id": testTenant, "external_id": "acme"}},
	}
}

func snapshotOf(version int, keys ...map[string]any) map[string]any {
	body := feedHead("policy_snapshot", version)
	body["keys"], body["next_cursor"] = keys, nil
	return body
}

func deltaOf(since, version int, changes ...map[string]any) map[string]any {
	body := feedHead("policy_delta", version)
	if changes == nil {
		changes = []map[string]any{}
	}
	body["since"], body["changes"] = since, changes
	return body
}

func changed(kind string, key map[string]any) map[string]any {
	key["change"] = kind
	return key
}

// fakeService answers each request with the handler that comes next for its path, and the last one again and
// again.
type fakeService struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string][]http.HandlerFunc
	asked   map[string]int
}

func startService(t testing.TB) *fakeService {
	s := &fakeService{answers: map[string][]http.HandlerFunc{}, asked: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *fakeService) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	list := s.answers[r.URL.Path]
	if len(list) > 1 {
		s.answers[r.URL.Path] = list[1:]
	}
	s.mu.Unlock()
	if len(list) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	list[0](w, r)
}

func (s *fakeService) calls(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

func (s *fakeService) answer(path string, with http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = append(s.answers[path], with)
}

func (s *fakeService) answerJSON(path string, status int, body any) {
	s.answer(path, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(textOf(body))
	})
}

// openNode is a node without a loop, with a clock that the test moves.
func openNode(t testing.TB, s *fakeService, change func(*Options)) (*Keys, *virtualClock, *[]string) {
	said := &[]string{}
	options := Options{
		URL: s.URL, SecretKey: testSecretKey(), Project: testProject,
		OnError: func(err *Error) { *said = append(*said, err.Code) },
	}
	if change != nil {
		change(&options)
	}
	settings, err := readOptions(options)
	if err != nil {
		t.Fatal(err)
	}
	clock := &virtualClock{wallMs: testWall, runningMs: 1_000_000}
	return open(settings, clock, func() float64 { return 0.5 }), clock, said
}

func wantCode(t testing.TB, k *Keys, key string, requirements Requirements, want Code) {
	t.Helper()
	if got := k.Verify(key, requirements).Code; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
