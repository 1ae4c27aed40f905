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
		return Verdict{Code: MalformedKey}
	}
	if !accepted(k.settings.scope.env, env) || requirements.Env != "" && !accepted(requirements.Env, env) {
		return Verdict{Code: WrongEnv}
	}
	now := k.clock.monotonic()
	// In an array, because a slice of the text would be copied to the heap.
	var text [keyMax]byte
	sought := digest(sha256.Sum256(text[:copy(text[:], key)]))

	served := &k.served
	served.mu.RLock()
	defer served.mu.RUnlock()
	store := served.store
	if store == nil {
		return Verdict{Code: NotReady}
	}
	if !(store.confirmedAt > now-k.settings.cachedTTLMs) {
		return Verdict{Code: Stale}
	}
	slot, ok := store.find(&sought)
	if !ok {
		return Verdict{Code: served.absence(&sought)}
	}
	store.touch(slot)
	record := &store.records[slot]
	// The checksum covers the environment in the key's text, so only a forged feed can make them differ.
	if record.env() != env {
		return Verdict{Code: UnknownKey}
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
	return store.valid(slot, env)
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

func accepted(envs, env string) bool { return envs == env || envs == "both" }

func hasAll(scopes, required []string) bool {
	for _, scope := range required {
		if !contains(scopes, scope) {
			return false
		}
	}
	return true
}
