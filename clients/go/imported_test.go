package keyrail

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

const oldKey = "old-key_of.another/system+1="

// importedKey is the record of a key with this text.
func importedKey(number int, text string) map[string]any {
	return feedKey(number, map[string]any{"lookup_hash": hashOf(text)})
}

// accepting is a body of a project that takes keys from elsewhere.
func accepting(body map[string]any) map[string]any {
	body["accepts_imported"] = true
	return body
}

// ofBefore is a body of a process that does not know keys from elsewhere.
func ofBefore(body map[string]any) map[string]any {
	body["features"] = []string{"cidr", "suspended"}
	return body
}

func poll(t *testing.T, k *Keys) {
	t.Helper()
	if _, err := k.follower.poll(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestATextOfAnyFormIsAKeyWhereTheProjectTakesThem(t *testing.T) {
	service := startService(t)
	k, clock, _ := openNode(t, service, nil)
	wantCode(t, k, oldKey, Requirements{}, NotReady)
	wantCode(t, k, "a b", Requirements{}, MalformedKey)
	longest := strings.Repeat("~", 512)
	service.answerJSON(snapshotPath, 200, accepting(snapshotOf(7, importedKey(1, oldKey), importedKey(2, longest))))
	poll(t, k)
	if key := k.Verify(oldKey, Requirements{}); key.Code != Valid || key.KeyID != keyID(1) || key.Env != "live" {
		t.Errorf("got %+v", key)
	}
	wantCode(t, k, longest, Requirements{}, Valid)
	wantCode(t, k, oldKey, Requirements{Env: "test"}, WrongEnv)
	wantCode(t, k, "another", Requirements{}, UnknownKey)
	for _, text := range []string{longest + "~", "a b", "a\n", "\x7f", "é"} {
		wantCode(t, k, text, Requirements{}, MalformedKey)
	}
	wantCode(t, k, makeKey("kr_test_", 1), Requirements{}, WrongEnv)
	clock.advance(60_000, 0)
	wantCode(t, k, oldKey, Requirements{}, Stale)
}

func TestAProjectThatTakesNoKeysFromElsewhereLooksNoneUp(t *testing.T) {
	service := startService(t)
	k, clock, _ := openNode(t, service, nil)
	service.answerJSON(snapshotPath, 200, snapshotOf(7, importedKey(1, oldKey)))
	poll(t, k)
	wantCode(t, k, oldKey, Requirements{}, MalformedKey)
	service.answerJSON(deltaPath, 200, accepting(deltaOf(7, 8)))
	service.answerJSON(deltaPath, 200, deltaOf(8, 9))
	poll(t, k)
	wantCode(t, k, oldKey, Requirements{}, Valid)
	poll(t, k)
	wantCode(t, k, oldKey, Requirements{}, MalformedKey)
	clock.advance(60_000, 0)
	wantCode(t, k, oldKey, Requirements{}, Stale)
	wantCode(t, k, "a b", Requirements{}, MalformedKey)
}

func TestTheNextProcessKnowsKeysFromElsewhere(t *testing.T) {
	service := startService(t)
	directory := filepath.Join(t.TempDir(), "made", "here")
	k, _, _ := openNode(t, service, func(o *Options) { o.CacheDir = directory })
	service.answerJSON(snapshotPath, 200, accepting(snapshotOf(7, importedKey(1, oldKey))))
	k.begin()
	poll(t, k)
	k.disk.close(k.follower.kept())
	next, said := reopen(t, service, directory, nil)
	if len(said) > 0 {
		t.Fatal(said)
	}
	wantCode(t, next, oldKey, Requirements{}, Valid)
	wantCode(t, next, "another", Requirements{}, UnknownKey)
}

func TestAFileOfAProcessThatDidNotKnowThemLeavesDoubtUntilTheNextAnswer(t *testing.T) {
	for _, isDeleted := range []bool{false, true} {
		service := startService(t)
		directory := filepath.Join(t.TempDir(), "made", "here")
		before, _, _ := openNode(t, service, func(o *Options) { o.CacheDir = directory })
		service.answerJSON(snapshotPath, 200, ofBefore(snapshotOf(7, feedKey(1, nil))))
		before.begin()
		poll(t, before)
		before.disk.close(before.follower.kept())
		k, _ := reopen(t, service, directory, nil)
		wantCode(t, k, oldKey, Requirements{}, NotReady)
		wantCode(t, k, liveKey(9), Requirements{}, UnknownKey)
		wantCode(t, k, "a b", Requirements{}, MalformedKey)
		body := ofBefore(deltaOf(7, 7))
		body["project_deleted"] = isDeleted
		service.answerJSON(deltaPath, 200, body)
		poll(t, k)
		wantCode(t, k, oldKey, Requirements{}, MalformedKey)
	}
}
