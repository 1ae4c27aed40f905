package keyrail

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// nodeWithDisk is a node that has saved one snapshot.
func nodeWithDisk(t *testing.T, service *fakeService, directory string) *Keys {
	k, _, _ := openNode(t, service, func(o *Options) { o.CacheDir = directory })
	service.answerJSON(snapshotPath, 200, snapshotOf(7,
		feedKey(1, map[string]any{"meta": map[string]any{"plan": "gold"}}),
		feedKey(2, map[string]any{"rate_limits": []any{map[string]any{"id": "m", "limit": 5, "window_ms": 1_000}}}),
		feedKey(3, map[string]any{"key_id": "zeta", "expires_at": "2027-01-01T00:00:30Z"})))
	k.begin()
	if _, err := k.follower.poll(context.Background()); err != nil {
		t.Fatal(err)
	}
	k.disk.close(k.follower.kept())
	return k
}

// reopen is the next process, some time later.
func reopen(t *testing.T, service *fakeService, directory string, later func(*virtualClock)) (*Keys, []string) {
	k, clock, said := openNode(t, service, func(o *Options) { o.CacheDir = directory })
	if later != nil {
		later(clock)
	}
	k.begin()
	return k, *said
}

func TestANewProcessServesWhatTheLastOneLeft(t *testing.T) {
	service := startService(t)
	directory := filepath.Join(t.TempDir(), "made", "here")
	nodeWithDisk(t, service, directory)
	k, said := reopen(t, service, directory, nil)
	if len(said) > 0 {
		t.Fatal(said)
	}
	wantCode(t, k, liveKey(1), Requirements{Scopes: []string{"orders:read"}}, Valid)
	wantCode(t, k, liveKey(9), Requirements{}, UnknownKey)
	first := k.Verify(liveKey(1), Requirements{})
	if first.Meta.Text("plan") != "gold" || first.ExternalID != "acme" || first.KeyID != keyID(1) {
		t.Errorf("got %+v", first)
	}
	second := k.Verify(liveKey(2), Requirements{})
	if second.Meta != blankMeta || second.Limits()[0].Limit != 5 {
		t.Errorf("got %+v", second)
	}
	if third := k.Verify(liveKey(3), Requirements{}); third.KeyID != "zeta" || third.ExpiresAt.IsZero() {
		t.Errorf("got %+v", third)
	}
	stats := k.Stats()
	if stats.Source != "disk" || stats.Version != 7 || stats.Keys != 3 || !stats.Serving || !stats.Complete {
		t.Errorf("got %+v", stats)
	}
}

func TestTheAgeOfAFileCountsByTheSlowerClock(t *testing.T) {
	for name, late := range map[string]func(*virtualClock){
		"wall":   func(c *virtualClock) { c.wallMs += 60_000 },
		"uptime": func(c *virtualClock) { c.runningMs += 60_000 },
		"future": func(c *virtualClock) { c.wallMs -= 1 },
	} {
		service := startService(t)
		directory := t.TempDir()
		_ = os.Chmod(directory, 0o700)
		nodeWithDisk(t, service, directory)
		k, _ := reopen(t, service, directory, late)
		wantCode(t, k, liveKey(1), Requirements{}, Stale)
		if k.follower.version != 7 {
			t.Errorf("%s: the next poll takes a snapshot", name)
		}
	}
}

func TestAFileIsForItsOwnerOnly(t *testing.T) {
	service := startService(t)
	directory := t.TempDir()
	_ = os.Chmod(directory, 0o700)
	k := nodeWithDisk(t, service, directory)
	path := filepath.Join(directory, k.disk.name)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	for name, spoil := range map[string]func(){
		"disk_file_refused": func() { _ = os.Chmod(path, 0o622) },
		"disk_unusable":     func() { _ = os.Chmod(directory, 0o722) },
	} {
		spoil()
		if _, said := reopen(t, service, directory, nil); len(said) != 1 || said[0] != name {
			t.Errorf("got %v, want %s", said, name)
		}
		_ = os.Chmod(directory, 0o700)
		_ = os.Chmod(path, 0o600)
	}
	link := filepath.Join(t.TempDir(), "link")
	_ = os.Symlink(directory, link)
	if _, said := reopen(t, service, link, nil); len(said) != 1 || said[0] != "disk_unusable" {
		t.Errorf("a symbolic link is followed: %v", said)
	}
}

func TestAnyDamageOfAFileIsNoticed(t *testing.T) {
	service := startService(t)
	directory := t.TempDir()
	_ = os.Chmod(directory, 0o700)
	k := nodeWithDisk(t, service, directory)
	path := filepath.Join(directory, k.disk.name)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	scope := &k.settings.scope
	for at := 0; at < len(whole); at += 7 {
		damaged := append([]byte{}, whole...)
		damaged[at] ^= 1
		if _, refused := decodeSnapshot(damaged, scope, 10); refused == nil {
			t.Fatalf("byte %d may change", at)
		}
		if _, refused := decodeSnapshot(whole[:at], scope, 10); refused == nil {
			t.Fatalf("it may be cut at %d", at)
		}
	}
	if _, refused := decodeSnapshot(whole, scope, 2); refused == nil || !refused.isScope {
		t.Error("more keys are taken than may be held")
	}
	other := *scope
	other.tenants = []string{testTenant}
	if _, refused := decodeSnapshot(whole, &other, 10); refused == nil || !refused.isScope {
		t.Error("a file of other tenants is used")
	}
	other = *scope
	other.service = "https://other.example.com/"
	if _, refused := decodeSnapshot(whole, &other, 10); refused == nil || refused.isScope {
		t.Error("a file of another service is used")
	}
}

func TestANoteConfirmsTheFileBesideIt(t *testing.T) {
	service := startService(t)
	directory := t.TempDir()
	_ = os.Chmod(directory, 0o700)
	k := nodeWithDisk(t, service, directory)
	clock := k.clock.(*virtualClock)
	clock.advance(50_000, 50_000)
	later := deltaOf(7, 7)
	// A named tenant would change the keys.
	later["tenants"] = []any{}
	later["generated_at"] = "2027-01-01T00:00:50.000Z"
	service.answerJSON(deltaPath, 200, later)
	if _, err := k.follower.poll(context.Background()); err != nil {
		t.Fatal(err)
	}
	k.disk.close(k.follower.kept())
	forward := func(c *virtualClock) { c.advance(100_000, 100_000) }
	next, _ := reopen(t, service, directory, forward)
	wantCode(t, next, liveKey(1), Requirements{}, Valid)
	if err := os.Remove(filepath.Join(directory, k.disk.name+".confirmed")); err != nil {
		t.Fatal(err)
	}
	next, _ = reopen(t, service, directory, forward)
	wantCode(t, next, liveKey(1), Requirements{}, Stale)
}

func TestEqualRulesAreOneHoweverTheyAreWritten(t *testing.T) {
	same := []string{
		`[{"id":"a","limit":1,"window_ms":5}]`, `[ {"id" : "\u0061", "limit": 1.0, "window_ms": 5e0} ]`,
		`[{"id":"b","id":"a","limit":1,"window_ms":5}]`, `[{"id":"a","limit":1,"windowMs":5}]`,
	}
	first, _ := readLimits([]byte(same[0]))
	for _, text := range same {
		if read, ok := readLimits([]byte(text)); !ok || read.text != first.text {
			t.Errorf("%s is read as %+v", text, read)
		}
	}
	if read, _ := readLimits([]byte(`[{"b":[1,{"x":null}],"2":true,"10":1,"1":"é\u2028<"}]`)); read.text !=
		`[{"1":"é\u2028<","2":true,"10":1,"b":[1,{"x":null}]}]` {
		t.Error(read.text)
	}
	if _, ok := readLimits([]byte(`[{"a":[[[[1]]]]}]`)); ok {
		t.Error("a deep rule is read")
	}
}

// headed is the file with other members in its header; nil removes one.
func headed(file []byte, more map[string]any) []byte {
	length := int(binary.LittleEndian.Uint32(file[len(snapshotFormat)+4:]))
	fields, _ := readMembers(file[headBytes : headBytes+length])
	for name, value := range more {
		fields[name] = textOf(value)
		if value == nil {
			delete(fields, name)
		}
	}
	text := textOf(fields)
	made := append([]byte{}, file[:headBytes]...)
	binary.LittleEndian.PutUint32(made[len(snapshotFormat)+4:], uint32(len(text)))
	made = append(made, text...)
	made = append(made, make([]byte, alignedTo64(len(made))-len(made))...)
	made = append(made, file[alignedTo64(headBytes+length):len(file)-sumBytes]...)
	sum := sha256.Sum256(made)
	return append(made, sum[:]...)
}

func TestNoKeyLosesItsNetworksByAFileThatLacksThem(t *testing.T) {
	k, _ := servingNetworks(t, []string{"2001:db8::/32"})
	scope := &k.settings.scope
	whole := encodeSnapshot(k.follower.kept(), scope, confirmation{1, 1, 1})
	read, refused := decodeSnapshot(headed(whole, nil), scope, 10)
	if refused != nil {
		t.Fatal(refused.why)
	}
	former := k.served.store
	if len(read.store.keyNetworks) != 2 || !read.store.tenantNetworks[testTenant].isSame(former.tenantNetworks[testTenant]) {
		t.Errorf("got %v and %v", read.store.keyNetworks, read.store.tenantNetworks)
	}
	for slot, own := range former.keyNetworks {
		if again, _ := read.store.findID(former.ids.text(slot)); !own.isSame(read.store.keyNetworks[again]) {
			t.Errorf("the key %s has %v", former.ids.text(slot), read.store.keyNetworks[again])
		}
	}
	net, pairs := []any{"10.0.0.0/8"}, []any{}
	for _, wrong := range []any{
		nil, "x", map[string]any{}, map[string]any{"lists": []any{net}, "keys": pairs},
		map[string]any{"lists": net, "keys": pairs, "tenants": pairs},
		map[string]any{"lists": []any{nil}, "keys": pairs, "tenants": pairs},
		map[string]any{"lists": []any{net, net}, "keys": pairs, "tenants": pairs},
		map[string]any{"lists": []any{[]any{"10.0.0.1/8"}}, "keys": pairs, "tenants": pairs},
		map[string]any{"lists": []any{net}, "keys": []any{[]any{3, 0}}, "tenants": pairs},
		map[string]any{"lists": []any{net}, "keys": []any{[]any{0, 1}}, "tenants": pairs},
		map[string]any{"lists": []any{net}, "keys": []any{[]any{0, nil}}, "tenants": pairs},
		map[string]any{"lists": []any{net}, "keys": []any{[]any{0}}, "tenants": pairs},
		map[string]any{"lists": []any{net}, "keys": pairs, "tenants": []any{[]any{"acme", 1}}},
		map[string]any{"lists": []any{net}, "keys": pairs, "tenants": []any{[]any{"acme"}}},
		map[string]any{"lists": []any{[]any{}}, "keys": pairs, "tenants": []any{[]any{"acme", 0}}},
	} {
		if _, refused := decodeSnapshot(headed(whole, map[string]any{"allowed_cidrs": wrong}), scope, 10); refused == nil {
			t.Errorf("networks of %v are read", wrong)
		}
	}
	// Written before the feature: the service gave that node no key with networks.
	before := map[string]any{"asked": []string{"suspended"}, "known": []string{"suspended"}}
	old, refused := decodeSnapshot(headed(whole, map[string]any{"allowed_cidrs": nil, "features": before}), scope, 10)
	if refused != nil || len(old.features) != 1 {
		t.Error(refused, old)
	}
}
