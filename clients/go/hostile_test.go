package keyrail

import (
	"context"
	"crypto/sha256"
	"math/rand"
	"os"
	"path/filepath"
	"testing"
)

// Whatever a body or file says, reading it ends in a value or an error, and never in a panic.

func changedSomewhere(random *rand.Rand, text []byte) []byte {
	parts := []string{`null`, `{}`, `[]`, `-1`, `1e999`, `""`, `"\ud800"`, `true`, `,`, `:`, `{"a":`, "\x00", "9007199254740993"}
	changed := append([]byte{}, text...)
	for times := random.Intn(3); times >= 0; times-- {
		at := random.Intn(len(changed))
		end := at + random.Intn(12)
		if end > len(changed) {
			end = len(changed)
		}
		part := parts[random.Intn(len(parts))]
		changed = append(changed[:at:at], append([]byte(part), changed[end:]...)...)
	}
	return changed
}

func TestNoBodyMakesTheReaderPanic(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	scope := &scope{project: testProject, env: "live"}
	limit := map[string]any{"id": "m", "limit": 5, "window_ms": 60_000, "algorithm": "fixed", "scope": "key"}
	key := feedKey(1, map[string]any{"rate_limits": []any{limit}, "expires_at": "2027-02-01T00:00:00.123+05:30"})
	bodies := [][]byte{
		textOf(snapshotOf(7, key)),
		textOf(deltaOf(7, 8, changed("upsert", key), changed("tombstone", map[string]any{"key_id": keyID(2), "cause": "revoked"}))),
	}
	for _, body := range bodies {
		if read, err := readFeedBody(body, scope); err != nil || len(read.unreadable) > 0 {
			t.Fatal(err, read)
		}
	}
	for times := 0; times < 30_000; times++ {
		_, _ = readFeedBody(changedSomewhere(random, bodies[times%2]), scope)
		_, _ = readCheck(changedSomewhere(random, textOf(checkOf(false, 3))), []rule{{RateLimit: RateLimit{ID: "m"}}})
	}
}

func TestNoFileMakesTheReaderPanicAlsoWithARightChecksum(t *testing.T) {
	service := startService(t)
	directory := t.TempDir()
	_ = os.Chmod(directory, 0o700)
	k := nodeWithDisk(t, service, directory)
	whole, err := os.ReadFile(filepath.Join(directory, k.disk.name))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewSource(1))
	used := 0
	for times := 0; times < 20_000; times++ {
		file := append([]byte{}, whole...)
		for changes := random.Intn(3); changes >= 0; changes-- {
			file[len(snapshotFormat)+random.Intn(len(file)-sumBytes-len(snapshotFormat))] ^= 1 << random.Intn(8)
		}
		sum := sha256.Sum256(file[:len(file)-sumBytes])
		copy(file[len(file)-sumBytes:], sum[:])
		read, refused := decodeSnapshot(file, &k.settings.scope, 10)
		if refused != nil {
			continue
		}
		used++
		k.served.store = read.store
		for number := 1; number < 4; number++ {
			k.Verify(liveKey(number), Requirements{})
		}
		read.store.clear()
	}
	if used == 0 {
		t.Error("no changed file was used, so nothing was tested")
	}
	if _, err := k.follower.poll(context.Background()); err == nil {
		t.Error("the service has no delta")
	}
}
