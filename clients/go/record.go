package keyrail

import (
	"math"
)

// features are what this node asks for beside the keys themselves, sorted.
var features = []string{
	cidrFeature, "external_id", importedFeature, "key_meta", lifetimeFeature, suspendedFeature,
}

// scope says which keys a node asks for. Every answer must match it.
type scope struct {
	project string
	// env is live, test or both.
	env string
	// tenants are sorted and unique. Empty: the whole project.
	tenants []string
	// service is its address. Two installations, one restored from the other, have the same ids.
	service string
}

// keyNames are the id and digest of a key. One of them may be unreadable: the id is empty then.
type keyNames struct {
	keyID     string
	digest    digest
	hasDigest bool
}

// unreadable is a key of the feed that cannot be read, and the wrong field. Only this key is refused.
type unreadable struct {
	keyID string
	why   string
}

// storedKey is a key of the feed.
type storedKey struct {
	keyID    string
	tenantID string
	env      string
	digest   digest
	scopes   []string
	limits   *limits
	// end is as endOf writes it.
	end  float64
	meta Meta
	// networks are nil if those of its tenant apply.
	networks *networks
}

// The contract allows meta no more levels. A deeper one is left out.
const metaDepthMax = 32

// readKey reads one key of a snapshot or a change; why is the wrong field, or empty. Unknown fields are
// ignored.
func readKey(fields members, scope *scope) (key storedKey, why string) {
	if fields == nil {
		return key, "it is not an object"
	}
	names := readNames(fields)
	if names.keyID == "" {
		return key, "key_id"
	}
	if !names.hasDigest {
		return key, "lookup_hash"
	}
	key.keyID, key.digest = names.keyID, names.digest
	var ok bool
	if key.tenantID, ok = readText(fields["tenant_id"]); !ok {
		return key, "tenant_id"
	}
	if len(scope.tenants) > 0 && !contains(scope.tenants, key.tenantID) {
		return key, "tenant_id, which was not asked for"
	}
	if key.env, _ = readString(fields["env"]); key.env != "live" && key.env != "test" {
		return key, "env"
	}
	if scope.env != "both" && key.env != scope.env {
		return key, "env, which was not asked for"
	}
	if key.scopes, ok = readTexts(fields["scopes"]); !ok {
		return key, "scopes"
	}
	expiresAt, tooOldAt := math.Inf(1), math.Inf(1)
	if time, isGiven := fields["expires_at"]; !isGiven || !isNull(time) {
		expiresAt = readTime(time)
	}
	if math.IsNaN(expiresAt) {
		return key, "expires_at"
	}
	if time, isGiven := fields["too_old_at"]; isGiven {
		tooOldAt = readTime(time)
	}
	if math.IsNaN(tooOldAt) {
		return key, "too_old_at"
	}
	key.end = endOf(expiresAt, tooOldAt)
	if key.limits, ok = readLimits(fields["rate_limits"]); !ok {
		return key, "rate_limits"
	}
	if list, isGiven := fields["allowed_cidrs"]; isGiven {
		if key.networks, ok = readNetworks(list); !ok {
			return key, "allowed_cidrs"
		}
	}
	key.meta = metaIn(fields)
	return key, ""
}

// metaIn is empty if the feed gave none, or one that is no meta.
func metaIn(fields members) Meta {
	raw, isGiven := fields["meta"]
	switch {
	case !isGiven:
		return ""
	case isNull(raw):
		return "null"
	case isObject(raw) && isShallow(raw, metaDepthMax):
		return Meta(compact(raw))
	}
	return ""
}

func readNames(fields members) keyNames {
	var names keyNames
	if id, ok := readText(fields["key_id"]); ok {
		names.keyID = id
	}
	names.digest, names.hasDigest = readDigest(fields["lookup_hash"])
	return names
}
