package keyrail

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func withoutEnvironment(t *testing.T) {
	for _, name := range []string{"KEYRAIL_URL", "KEYRAIL_SECRET_KEY", "KEYRAIL_PROJECT"} {
		t.Setenv(name, "")
	}
}

func TestAWrongOptionIsNamedWithoutTheSecretKey(t *testing.T) {
	withoutEnvironment(t)
	right := Options{URL: "https://keys.example.com", SecretKey: testSecretKey(), Project: testProject}
	for want, change := range map[string]func(*Options){
		"URL is not given":                      func(o *Options) { o.URL = "" },
		"must be an http or https address":      func(o *Options) { o.URL = "keys.example.com" },
		"anyone on the network could read":      func(o *Options) { o.URL = "http://keys.example.com" },
		"ends in /v1":                           func(o *Options) { o.URL += "/v1/" },
		"no user, query or fragment":            func(o *Options) { o.URL += "?x" },
		"SecretKey is not given":                func(o *Options) { o.SecretKey = "" },
		"white space":                           func(o *Options) { o.SecretKey += "\n" },
		"wrong checksum":                        func(o *Options) { o.SecretKey = o.SecretKey[:47] + "z" },
		"47 characters instead of 48":           func(o *Options) { o.SecretKey = o.SecretKey[:47] },
		"is an API key":                         func(o *Options) { o.SecretKey = liveKey(1) },
		"Project must be a uuid":                func(o *Options) { o.Project = "x" },
		"Env must be live":                      func(o *Options) { o.Env = "prod" },
		"Tenants[0] must be a uuid":             func(o *Options) { o.Tenants = []string{"x"} },
		"CachedTTL must be from":                func(o *Options) { o.CachedTTL = 61 * time.Second },
		"CachedTTL must be greater":             func(o *Options) { o.CachedTTL = time.Second },
		"MaxKeys must be from":                  func(o *Options) { o.MaxKeys = -1 },
		"Node must be":                          func(o *Options) { o.Node = "a b" },
		"a test secret key cannot see Env live": func(o *Options) { o.SecretKey, o.Env = makeKey("krsk_test_", 1), "live" },
	} {
		options := right
		change(&options)
		_, err := Open(options)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), right.SecretKey[:40]) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestTheAddressIsThatOfTheSDK(t *testing.T) {
	for given, want := range map[string]string{
		"https://Keys.Example.com:443": "https://keys.example.com/", "http://[::1]:80/a/": "http://[::1]/a/",
		"http://127.0.0.1:8080": "http://127.0.0.1:8080/",
	} {
		read := &settings{}
		if err := read.readURL(given, false); err != nil || read.scope.service != want {
			t.Errorf("got %s %v, want %s", read.scope.service, err, want)
		}
	}
}

func waitFor(t *testing.T, what string, isTrue func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if isTrue() {
			return
		}
	}
	t.Fatal("not in time: " + what)
}

// now is the time of the service in a body.
func now(body map[string]any) map[string]any {
	body["generated_at"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	return body
}

func answerNow(s *fakeService, path string, body func() map[string]any) {
	s.answer(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(textOf(now(body()))) })
}

func TestANodeFollowsUntilItIsClosed(t *testing.T) {
	service := startService(t)
	answerNow(service, snapshotPath, func() map[string]any { return snapshotOf(1, feedKey(1, nil), feedKey(2, nil)) })
	answerNow(service, deltaPath, func() map[string]any {
		gone := map[string]any{"key_id": keyID(2), "cause": "revoked", "lookup_hash": hashOf(liveKey(2))}
		return deltaOf(1, 2, changed("tombstone", gone))
	})
	answerNow(service, deltaPath, func() map[string]any { return deltaOf(2, 2) })
	service.answerJSON("/v1/healthz", 200, map[string]any{})
	service.answerJSON("/v1/usage/reports", 202, map[string]any{"ignored": 0})
	k, err := Open(Options{
		URL: service.URL, SecretKey: testSecretKey(), Project: testProject, PollInterval: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Ready(context.Background()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the key is revoked", func() bool { return k.Verify(liveKey(2), Requirements{}).Code == RevokedKey })
	k.Count(k.Verify(liveKey(1), Requirements{}), 3)
	if stats := k.Stats(); stats.PendingRequests != 3 || stats.Version != 2 || stats.Source != "service" {
		t.Errorf("got %+v", stats)
	}
	for range [2]int{} {
		if err := k.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if stats := k.Stats(); stats.ReportedRequests != 3 || stats.PendingRequests != 0 || stats.Serving {
		t.Errorf("got %+v", stats)
	}
	wantCode(t, k, liveKey(1), Requirements{}, NotReady)
	if err := k.Ready(context.Background()); err == nil {
		t.Error("a closed node is ready")
	}
}

func TestReadyFailsWhereRetryingIsUseless(t *testing.T) {
	service := startService(t)
	service.answerJSON(snapshotPath, 401, map[string]any{"code": "unauthenticated", "detail": "No."})
	k, err := Open(Options{URL: service.URL, SecretKey: testSecretKey(), Project: testProject, OnError: func(*Error) {}})
	if err != nil {
		t.Fatal(err)
	}
	var refused *Error
	if err := k.Ready(context.Background()); !errors.As(err, &refused) || refused.Code != "unauthenticated" {
		t.Errorf("got %v", err)
	}
	_ = k.Close(context.Background())
}

func TestReadyWaitsWhileTheServiceIsAway(t *testing.T) {
	k, err := Open(Options{
		URL: "http://127.0.0.1:1", SecretKey: testSecretKey(), Project: testProject, OnError: func(*Error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a poll fails", func() bool { return k.Stats().LastError == "network_error" })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := k.Ready(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("got %v", err)
	}
	_ = k.Close(context.Background())
}

func TestCountsThatCannotBeSentAreReportedAtTheEnd(t *testing.T) {
	service := startService(t)
	k, _, said := openNode(t, service, nil)
	k.usage.start()
	close(k.running)
	for number := 1; number < 4; number++ {
		k.usage.count(keyID(number), number)
	}
	k.usage.count("no uuid", 5)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var unsent *Error
	if err := k.Close(ctx); !errors.As(err, &unsent) || unsent.Code != "usage_unsent" {
		t.Errorf("got %v", err)
	}
	if fmt.Sprint(*said) != "[usage_unsent]" || k.Stats().DroppedRequests != 5 || k.Stats().PendingRequests != 6 {
		t.Errorf("got %v %+v", *said, k.Stats())
	}
}

func TestTimeThatTheMachineSleptCounts(t *testing.T) {
	c := newAwakeClock()
	before := c.monotonic()
	// As if the system had been up for an hour longer than the clock ran, and the wall clock had noticed.
	c.from -= 3_600_000
	c.wallAhead.set(c.wallAhead.get() - 3_600_000)
	if passed := c.monotonic() - before; passed < 3_599_990 || passed > 3_660_000 {
		t.Errorf("%v ms passed", passed)
	}
	// A wall clock that is set forward is no sleep where the system tells.
	before = c.monotonic()
	c.wallAhead.set(c.wallAhead.get() - 3_600_000)
	if passed := c.monotonic() - before; uptimeMs() == uptimeMs() && passed > 60_000 {
		t.Errorf("%v ms passed", passed)
	}
}
