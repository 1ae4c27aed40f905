package keyrail

import (
	"crypto/sha256"
	"math"
)

// Verify judges a key in memory: it makes no call, and refuses what it cannot judge. Safe from any goroutine.
func (k *Keys) Verify(key string, requirements Requirements) Verdict {
	if key == "" {
		return Verdict{Code: MissingKey}
	}
	env := envOfKey(key)
	if env == "" {
		return k.verifyOther(key, requirements)
	}
	if !k.isAskedFor(env, requirements) {
		return Verdict{Code: WrongEnv}
	}
	now := k.clock.monotonic()
	// In an array, because a slice of the text would be copied to the heap.
	var text [keyMax]byte
	sought := digest(sha256.Sum256(text[:copy(text[:], key)]))

	served := &k.served
	served.mu.RLock()
	defer served.mu.RUnlock()
	if served.store == nil {
		return Verdict{Code: NotReady}
	}
	return k.judge(&sought, env, now, requirements)
}

// verifyOther judges a text that is not of the form of an issued key.
func (k *Keys) verifyOther(key string, requirements Requirements) Verdict {
	if !isOtherForm(key) {
		return Verdict{Code: MalformedKey}
	}
	served := &k.served
	served.mu.RLock()
	defer served.mu.RUnlock()
	store := served.store
	if store == nil || store.isImportingUnknown {
		return Verdict{Code: NotReady}
	}
	now := k.clock.monotonic()
	if k.isStale(store, now) {
		return Verdict{Code: Stale}
	}
	// Without a hash, where no such key can be held: a flood of garbage costs nothing.
	if !store.acceptsImported {
		return Verdict{Code: MalformedKey}
	}
	sought := digest(sha256.Sum256([]byte(key)))
	return k.judge(&sought, "", now, requirements)
}

// judge looks a key up, in a store that is there and that nobody changes meanwhile. env is that of its text, or
// empty.
func (k *Keys) judge(sought *digest, env string, now float64, requirements Requirements) Verdict {
	served := &k.served
	store := served.store
	if k.isStale(store, now) {
		return Verdict{Code: Stale}
	}
	slot, ok := store.find(sought)
	if !ok {
		return Verdict{Code: served.absence(sought)}
	}
	store.touch(slot)
	record := &store.records[slot]
	// The checksum covers the environment in the key's text, so only a forged feed can make them differ.
	if env != "" && record.env() != env {
		return Verdict{Code: UnknownKey}
	}
	if env == "" && !k.isAskedFor(record.env(), requirements) {
		return Verdict{Code: WrongEnv}
	}
	if len(store.suspended) > 0 && store.isSuspended(store.shared.tenants[record.tenant].id) {
		return Verdict{Code: SuspendedTenant}
	}
	if !math.IsInf(record.end, 1) && !(k.time.at(now) < record.end) {
		return Verdict{Code: codeAfter(record.end)}
	}
	if list := store.networksOf(slot); list != nil {
		if code := list.code(requirements.IP); code != "" {
			return Verdict{Code: code}
		}
	}
	scopes := store.shared.scopes[record.scopes]
	if !hasAll(scopes, requirements.Scopes) {
		return Verdict{Code: InsufficientScope}
	}
	return store.valid(slot, record.env())
}

func (k *Keys) isStale(store *store, now float64) bool {
	return !(store.confirmedAt > now-k.settings.cachedTTLMs)
}

// absence says why a key is not held.
func (s *served) absence(sought *digest) Code {
	if code := s.ended.code(sought); code != "" {
		return code
	}
	if s.store.evictions > 0 || s.isPartial {
		return NotHeld
	}
	return UnknownKey
}

func (s *store) valid(slot uint32, env string) Verdict {
	record := &s.records[slot]
	tenant := &s.shared.tenants[record.tenant]
	return Verdict{
		Code:       Valid,
		KeyID:      s.ids.text(slot),
		TenantID:   tenant.id,
		ExternalID: tenant.externalID,
		Env:        env,
		Meta:       s.meta(slot),
		scopes:     s.shared.scopes[record.scopes],
		ExpiresAt:  shownEnd(record.end),
		limits:     s.shared.limits[record.limits>>1],
	}
}

// isAskedFor says whether node and request both accept keys of this environment.
func (k *Keys) isAskedFor(env string, requirements Requirements) bool {
	return accepted(k.settings.scope.env, env) && (requirements.Env == "" || accepted(requirements.Env, env))
}

func accepted(envs, env string) bool { return envs == env || envs == "both" }

func hasAll(scopes, required []string) bool {
	for _, scope := range required {
		if !contains(scopes, scope) {
			return false
		}
	}
	return true
}
