package keyrail

import (
	"encoding/json"
	"math"
	"unicode/utf8"
)

// The bodies of the feed. The head of a body is checked before anything of it is applied. Unknown fields are
// ignored, so that a newer service can send more. An unreadable key costs only that key.

// namedTenant is a tenant of a body. Without an external id the tenant has none.
type namedTenant struct {
	id, externalID string
	hasExternalID  bool
}

// change is a key that was added, changed or removed.
type change struct {
	// upsert is nil for a key that is removed, or cannot be read.
	upsert *storedKey
	names  keyNames
	// cause is empty if hasCause is false.
	cause    string
	hasCause bool
	// isUnreadable: the key is removed because it cannot be read.
	isUnreadable bool
}

type feedBody struct {
	isSnapshot  bool
	workspaceID string
	version     int64
	isDeleted   bool
	// generatedAt is when the service generated the body, by its clock. It may have sent the body to others
	// since.
	generatedAt float64
	unreadable  []unreadable
	// features are the requested ones that the service gives.
	features []string
	tenants  []namedTenant
	// listed are tenants of which the service says whether they are suspended, or from where their keys may be
	// used.
	listed                        []listedTenant
	listsSuspended, listsNetworks bool
	importing                     importing

	// Of a snapshot. nextCursor is empty on the last page.
	keys       []storedKey
	nextCursor string

	// Of a delta. heldMs is for how long the service held the answer before it last looked at the version.
	since  int64
	heldMs float64
	// needsSnapshot: the delta has a change of an unknown kind.
	needsSnapshot bool
	changes       []change
}

// readFeedBody returns an error that names the first wrong field.
func readFeedBody(text []byte, scope *scope) (*feedBody, *Error) {
	fields, ok := readMembers(text)
	if !ok {
		return nil, badResponse("not a JSON object")
	}
	object, _ := readString(fields["object"])
	if object != "policy_snapshot" && object != "policy_delta" {
		return nil, badResponse("object")
	}
	body := &feedBody{isSnapshot: object == "policy_snapshot"}
	if body.workspaceID, ok = readText(fields["workspace_id"]); !ok {
		return nil, badResponse("workspace_id")
	}
	if project, _ := readString(fields["project_id"]); project != scope.project {
		return nil, badResponse("project_id")
	}
	if !isEnvOf(fields, scope) {
		return nil, badResponse("env")
	}
	if body.version, ok = readCount(fields["version"]); !ok {
		return nil, badResponse("version")
	}
	if body.isDeleted, ok = readBool(fields["project_deleted"]); !ok {
		return nil, badResponse("project_deleted")
	}
	if body.generatedAt = readTime(fields["generated_at"]); math.IsNaN(body.generatedAt) {
		return nil, badResponse("generated_at")
	}
	body.features = featuresIn(fields["features"])
	body.tenants = tenantsIn(fields["tenants"])
	if err := body.readListed(fields); err != nil {
		return nil, err
	}
	accepts, isGiven := fields["accepts_imported"]
	body.importing = readImporting(accepts, isGiven, body.features)
	if body.isSnapshot {
		return body, body.readKeys(fields, scope)
	}
	if held, ok := readCount(fields["held_ms"]); ok {
		body.heldMs = float64(held)
	}
	return body, body.readChanges(fields, scope)
}

func isEnvOf(fields members, scope *scope) bool {
	given, isGiven := fields["env"]
	if scope.env == "both" {
		return isGiven && isNull(given)
	}
	env, _ := readString(given)
	return env == scope.env
}

func featuresIn(raw json.RawMessage) []string {
	list, _ := readList(raw)
	var given []string
	for _, each := range list {
		if name, ok := readString(each); ok && contains(features, name) {
			given = append(given, name)
		}
	}
	return given
}

func contains(list []string, text string) bool {
	for _, each := range list {
		if each == text {
			return true
		}
	}
	return false
}

func tenantsIn(raw json.RawMessage) []namedTenant {
	list, _ := readList(raw)
	var named []namedTenant
	for _, each := range list {
		fields, _ := readMembers(each)
		id, ok := readText(fields["tenant_id"])
		if !ok {
			continue
		}
		externalID, hasExternalID := readString(fields["external_id"])
		named = append(named, namedTenant{id, externalID, hasExternalID})
	}
	return named
}

func (b *feedBody) readKeys(fields members, scope *scope) *Error {
	list, ok := readList(fields["keys"])
	if !ok {
		return badResponse("keys")
	}
	if cursor := fields["next_cursor"]; !isNull(cursor) {
		b.nextCursor, ok = readString(cursor)
		if !ok || b.nextCursor == "" || utf8.RuneCountInString(b.nextCursor) > 512 {
			return badResponse("next_cursor")
		}
	}
	b.keys = make([]storedKey, 0, len(list))
	for _, each := range list {
		fields, _ := readMembers(each)
		key, why := readKey(fields, scope)
		if why != "" {
			b.unreadable = append(b.unreadable, unreadable{readNames(fields).keyID, why})
			continue
		}
		b.keys = append(b.keys, key)
	}
	return nil
}

func (b *feedBody) readChanges(fields members, scope *scope) *Error {
	var ok bool
	if b.since, ok = readCount(fields["since"]); !ok {
		return badResponse("since")
	}
	if b.version < b.since {
		return badResponse("version, which went back")
	}
	list, ok := readList(fields["changes"])
	if !ok {
		return badResponse("changes")
	}
	for _, each := range list {
		fields, _ := readMembers(each)
		names := readNames(fields)
		kind, _ := readString(fields["change"])
		// A change without names may concern any key held here: only a snapshot can resolve it.
		if !names.hasDigest && names.keyID == "" || kind != "tombstone" && kind != "upsert" {
			b.needsSnapshot, b.changes = true, nil
			return nil
		}
		if kind == "tombstone" {
			cause, hasCause := readString(fields["cause"])
			b.changes = append(b.changes, change{names: names, cause: cause, hasCause: hasCause})
			continue
		}
		key, why := readKey(fields, scope)
		if why != "" {
			b.unreadable = append(b.unreadable, unreadable{names.keyID, why})
			b.changes = append(b.changes, change{names: names, isUnreadable: true})
			continue
		}
		b.changes = append(b.changes, change{upsert: &key, names: names})
	}
	return nil
}
