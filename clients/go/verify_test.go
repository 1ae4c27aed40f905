package keyrail

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestTheFormOfAKey(t *testing.T) {
	valid := liveKey(7)
	if envOfKey(valid) != "live" || envOfKey(makeKey("acme_test_", 7)) != "test" {
		t.Error("a right key is malformed")
	}
	for _, wrong := range []string{
		"", "kr_live_", valid[:len(valid)-1], valid + "0", "K" + valid[1:], strings.Replace(valid, "live", "test", 1),
		strings.Replace(valid, "live", "prod", 1), valid[:20] + "-" + valid[21:], valid[:20] + "é" + valid[22:],
		makeKey("k_live_", 7), makeKey("1r_live_", 7), makeKey("abcdefghijklmnopq_live_", 7), makeKey("kr_live", 7),
	} {
		if env := envOfKey(wrong); env != "" {
			t.Errorf("%q is a key of %s", wrong, env)
		}
	}
	// Every single character counts.
	for at := range valid {
		other := byte('0')
		if valid[at] == other {
			other = '1'
		}
		if envOfKey(valid[:at]+string(other)+valid[at+1:]) != "" {
			t.Errorf("the character %d may change", at)
		}
	}
}

func TestTheVerdictIsTheFirstReasonToRefuse(t *testing.T) {
	service := startService(t)
	k, clock, _ := openNode(t, service, nil)
	scoped := Requirements{Scopes: []string{"orders:write"}}
	wantCode(t, k, "", scoped, MissingKey)
	wantCode(t, k, "a b", scoped, MalformedKey)
	wantCode(t, k, makeKey("kr_test_", 1), scoped, WrongEnv)
	wantCode(t, k, liveKey(1), Requirements{Env: "test"}, WrongEnv)
	wantCode(t, k, liveKey(1), Requirements{Env: "prod"}, WrongEnv)
	wantCode(t, k, liveKey(1), scoped, NotReady)
	service.answerJSON(snapshotPath, 200, snapshotOf(7, feedKey(1, nil),
		feedKey(2, map[string]any{"expires_at": "2027-01-01T00:00:30.000Z"})))
	if _, err := k.follower.poll(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, k, liveKey(1), Requirements{Scopes: []string{"orders:read"}}, Valid)
	wantCode(t, k, liveKey(1), scoped, InsufficientScope)
	wantCode(t, k, liveKey(2), Requirements{}, Valid)
	wantCode(t, k, liveKey(3), scoped, UnknownKey)
	clock.advance(30_000, 0)
	wantCode(t, k, liveKey(2), scoped, ExpiredKey)
	clock.advance(29_999, 0)
	wantCode(t, k, liveKey(1), Requirements{}, Valid)
	clock.advance(1, 0)
	wantCode(t, k, liveKey(1), scoped, Stale)
	wantCode(t, k, liveKey(3), scoped, Stale)
}

func TestAVerdictHasWhatTheFeedSaid(t *testing.T) {
	service := startService(t)
	k, _, _ := openNode(t, service, nil)
	limit := map[string]any{"id": "m", "limit": 100, "window_ms": 60_000, "algorithm": "fixed", "scope": "tenant"}
	service.answerJSON(snapshotPath, 200, snapshotOf(7, feedKey(1, map[string]any{
		"meta": map[string]any{"plan": "gold"}, "rate_limits": []any{limit}, "expires_at": "2027-02-01T00:00:00Z",
	})))
	_, _ = k.follower.poll(context.Background())
	key := k.Verify(liveKey(1), Requirements{})
	if key.KeyID != keyID(1) || key.TenantID != testTenant || key.ExternalID != "acme" || key.Env != "live" {
		t.Errorf("got %+v", key)
	}
	if key.Meta.Text("plan") != "gold" || key.Meta.Text("other") != "" || key.ExpiresAt.Month() != 2 {
		t.Errorf("got %+v", key)
	}
	if limits := key.Limits(); len(limits) != 1 || limits[0].Limit != 100 || limits[0].Scope != "tenant" {
		t.Errorf("got %+v", limits)
	}
	// A caller cannot change a key through its verdict.
	key.Scopes()[0] = "admin"
	wantCode(t, k, liveKey(1), Requirements{Scopes: []string{"admin"}}, InsufficientScope)
}

func TestVerifyingAllocatesNothing(t *testing.T) {
	k := openWith(t, 1_000)
	requirements := Requirements{Scopes: []string{"orders:read"}}
	key := liveKey(7)
	if count := testing.AllocsPerRun(100, func() { k.Verify(key, requirements) }); count != 0 {
		t.Errorf("a verification allocates %v times", count)
	}
}

// Run with -race.
func TestManyVerifyWhileKeysChange(t *testing.T) {
	service := startService(t)
	// Nearly full, so that uses are noted too.
	k, _, _ := openNode(t, service, func(o *Options) { o.MaxKeys = 6 })
	service.answerJSON(snapshotPath, 200, snapshotOf(1, feedKey(1, nil), feedKey(2, nil), feedKey(3, nil)))
	for version := 1; version < 40; version++ {
		number := 4 + version%3
		service.answerJSON(deltaPath, 200, deltaOf(version, version+1,
			changed("upsert", feedKey(number, nil)), changed("tombstone", feedKey(4+(version+1)%3, nil))))
	}
	ctx := context.Background()
	_, _ = k.follower.poll(ctx)
	over := make(chan struct{})
	var readers sync.WaitGroup
	for reader := 0; reader < 4; reader++ {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for {
				select {
				case <-over:
					return
				default:
				}
				k.Stats()
				for number := 1; number < 8; number++ {
					if code := k.Verify(liveKey(number), Requirements{}).Code; number == 1 && code != Valid {
						t.Errorf("the key that stays is %s", code)
						return
					}
				}
			}
		}()
	}
	for version := 1; version < 40; version++ {
		if _, err := k.follower.poll(ctx); err != nil {
			t.Error(err)
		}
	}
	close(over)
	readers.Wait()
}

// openWith is a node with this many keys.
func openWith(t testing.TB, keys int) *Keys {
	k, _, _ := openNode(t, startService(t), nil)
	store := newStore(k.settings.maxKeys)
	for number := 1; number <= keys; number++ {
		key := storedKey{
			keyID: keyID(number), tenantID: keyID(1_000_000 + number/10), env: "live", scopes: []string{"orders:read"},
			end: testWall + 1e9, meta: blankMeta,
		}
		sum, _ := readDigest(textOf(hashOf(liveKey(number))))
		key.digest = sum
		store.upsert(&key)
	}
	store.confirm(0)
	k.served.store = store
	return k
}

func BenchmarkVerify(b *testing.B) {
	k := openWith(b, 100_000)
	k.clock = newAwakeClock()
	k.served.store.confirm(k.clock.monotonic() + 3_600_000)
	keys := make([]string, 100_000)
	for at := range keys {
		keys[at] = liveKey(at*7%100_000 + 1)
	}
	requirements := Requirements{Scopes: []string{"orders:read"}}
	b.ReportAllocs()
	b.ResetTimer()
	for at := 0; at < b.N; at++ {
		if !k.Verify(keys[at%len(keys)], requirements).IsValid() {
			b.Fatal("a key is refused")
		}
	}
}

func BenchmarkMemory(b *testing.B) {
	for at := 0; at < b.N; at++ {
		before := heapBytes()
		k := openWith(b, 100_000)
		b.ReportMetric(float64(heapBytes()-before)/100_000, "bytes/key")
		runtime.KeepAlive(k)
	}
}

func heapBytes() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
