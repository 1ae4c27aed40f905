package keyrail

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// A node that holds keys, and how often the service heard that it has stopped.
func openAndCount(t *testing.T, options Options, leave http.HandlerFunc) (*Keys, *atomic.Int32) {
	t.Helper()
	service := startService(t)
	told := &atomic.Int32{}
	answerNow(service, snapshotPath, func() map[string]any { return snapshotOf(7, feedKey(1, nil)) })
	service.answer(deltaPath, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("leaving") == "true" && r.URL.Query().Get("since") == "7" {
			told.Add(1)
			leave(w, r)
			return
		}
		_, _ = w.Write(textOf(now(deltaOf(7, 7))))
	})
	service.answerJSON("/v1/healthz", 200, map[string]any{})
	options.URL, options.SecretKey, options.Project = service.URL, testSecretKey(), testProject
	options.PollInterval = 100 * time.Millisecond
	k, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Ready(context.Background()); err != nil {
		t.Fatal(err)
	}
	return k, told
}

func TestANodeThatClosesTellsTheServiceOnce(t *testing.T) {
	k, told := openAndCount(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(textOf(now(deltaOf(7, 7))))
	})
	for range [2]int{} {
		if err := k.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	wantCode(t, k, liveKey(1), Requirements{}, NotReady)
	if told.Load() != 1 {
		t.Errorf("told %d times", told.Load())
	}
}

func TestANodeThatCannotTellClosesAnyway(t *testing.T) {
	k, told := openAndCount(t, Options{}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if err := k.Close(context.Background()); err != nil || told.Load() != 1 {
		t.Errorf("told %d times, got %v", told.Load(), err)
	}
}

func TestANodeWithADiskOrANameOfItsOwnTellsNothing(t *testing.T) {
	for _, options := range []Options{{CacheDir: t.TempDir()}, {Node: "api"}} {
		k, told := openAndCount(t, options, func(http.ResponseWriter, *http.Request) {})
		if err := k.Close(context.Background()); err != nil || told.Load() != 0 {
			t.Errorf("%+v: told %d times, got %v", options, told.Load(), err)
		}
	}
}
