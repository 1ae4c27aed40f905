package keyrail

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// loaded is a disk snapshot as it was read.
type loaded struct {
	kept
	at confirmation
}

// refusedFile says why a file is not used.
type refusedFile struct {
	// isScope: the file is right, and for another scope.
	isScope bool
	why     string
}

func damaged(why string) *refusedFile { return &refusedFile{why: why} }

// decodeSnapshot reads a file for a node with this scope. It refuses a file with any invalid part.
func decodeSnapshot(file []byte, scope *scope, mostKeys int) (*loaded, *refusedFile) {
	sumAt := len(file) - sumBytes
	if sumAt < headBytes {
		return nil, damaged("it is cut short")
	}
	if string(file[:len(snapshotFormat)]) != snapshotFormat {
		return nil, damaged("it has another format")
	}
	if !isSummed(file) {
		return nil, damaged("its checksum is wrong")
	}
	if binary.LittleEndian.Uint32(file[len(snapshotFormat):]) != wordOrder {
		return nil, damaged("it was written with another byte order")
	}
	length := int(binary.LittleEndian.Uint32(file[len(snapshotFormat)+4:]))
	if length < 0 || headBytes+length > sumAt {
		return nil, damaged("its header is cut short")
	}
	header, refused := readHeader(file[headBytes : headBytes+length])
	if refused != nil {
		return nil, refused
	}
	recordsAt := alignedTo64(headBytes + length)
	if header.Records > len(file) || recordsAt+header.Records*(recordBytes+idBytes) != sumAt {
		return nil, damaged("its length is wrong")
	}
	if refused := foreignness(header, scope); refused != nil {
		return nil, refused
	}
	if header.Records > mostKeys {
		return nil, &refusedFile{true, fmt.Sprintf("it has %d keys, and this node may hold %d", header.Records, mostKeys)}
	}
	shared := header.shared()
	if shared == nil {
		return nil, damaged("its header is wrong")
	}
	store := newStore(mostKeys)
	store.shared = shared
	if refused := restore(store, header, file[recordsAt:sumAt]); refused != nil {
		return nil, refused
	}
	if !header.restoreNetworks(store) {
		return nil, damaged("its header is wrong")
	}
	if header.Suspended != nil {
		for _, id := range *header.Suspended {
			store.suspended[id] = struct{}{}
		}
	}
	return header.loaded(store, scope), nil
}

func (h *snapshotHeader) loaded(store *store, scope *scope) *loaded {
	store.evictions = h.Evictions
	store.revision = 1
	read := &loaded{
		kept: kept{
			store: store, version: h.Version, workspaceID: h.WorkspaceID,
			// Believe the writer only if it is known which tenants it covered.
			isWhole: h.Scope != nil && (h.Complete || len(scope.tenants) > 0),
		},
		at: confirmation{h.FetchedAt, h.FetchedUptimeMs, math.NaN()},
	}
	if h.Features != nil {
		read.features = h.Features.Known
	}
	if h.ServiceAt != nil {
		read.at.service = *h.ServiceAt
	}
	return read
}

func foreignness(h *snapshotHeader, scope *scope) *refusedFile {
	if h.ProjectID != scope.project {
		return damaged("it belongs to another project")
	}
	if env := envOfFile(scope); (env == nil) != (h.Env == nil) || env != nil && *env != *h.Env {
		return damaged("it belongs to another environment")
	}
	if h.Service != nil && *h.Service != scope.service {
		return damaged("it belongs to another service")
	}
	// What it lacks comes with the next answer of the service, which names more features than the file does.
	if h.Features != nil && !hasAll(features, h.Features.Asked) {
		return &refusedFile{true, "it was written for other features"}
	}
	if h.Scope == nil {
		if len(scope.tenants) > 0 {
			return &refusedFile{true, "it does not say which tenants it covers"}
		}
		return nil
	}
	if nameOfList(h.Scope.TenantIDs) != nameOfList(scope.tenants) {
		return &refusedFile{true, "it was written for other tenants"}
	}
	return nil
}

func readHeader(text []byte) (*snapshotHeader, *refusedFile) {
	var header snapshotHeader
	fields, ok := readMembers(text)
	if !ok || json.Unmarshal(text, &header) != nil || !hasFields(fields) {
		return nil, damaged("its header is wrong")
	}
	isRight := header.Version >= 0 && header.Version <= safeMax && header.Evictions >= 0 && header.Uses >= 0 &&
		header.Records >= 0 && header.Records <= fileMaxBytes/recordBytes && len(header.RateLimits) > 0 &&
		(header.Env == nil || *header.Env == "live" || *header.Env == "test")
	isRight = isRight && (header.Suspended != nil || !header.shouldHave(fields, "suspended", suspendedFeature)) &&
		(header.Networks != nil || !header.shouldHave(fields, "allowed_cidrs", cidrFeature))
	if !isRight {
		return nil, damaged("its header is wrong")
	}
	return &header, nil
}

// shouldHave: who knew a feature also wrote its member.
func (h *snapshotHeader) shouldHave(fields members, member, feature string) bool {
	_, isGiven := fields[member]
	return isGiven || h.knew(feature)
}

func (h *snapshotHeader) knew(feature string) bool {
	return h.Features != nil && contains(h.Features.Known, feature)
}

// hasFields: encoding/json leaves what is absent at its zero value, and a wrong one would be believed.
func hasFields(fields members) bool {
	for _, name := range []string{
		"workspace_id", "project_id", "version", "fetched_at", "fetched_uptime_ms", "complete", "evictions", "uses",
		"records", "other_ids", "tenants", "scopes", "rate_limits",
	} {
		if isNull(fields[name]) {
			return false
		}
	}
	_, hasEnv := fields["env"]
	accepts, isGiven := fields["accepts_imported"]
	return hasEnv && !(isGiven && isNull(accepts))
}

// shared are the lists in their order; nil if one has equal entries, which would shift all that follow, or a
// wrong one.
func (h *snapshotHeader) shared() *shared {
	read := newShared()
	for _, id := range h.Tenants {
		read.tenant(id)
	}
	for _, list := range h.Scopes {
		read.scopeList(list)
	}
	for _, raw := range h.RateLimits[1:] {
		set, ok := readLimits(raw)
		if !ok || set == nil {
			return nil
		}
		read.limitSet(set)
	}
	if len(read.tenants) != len(h.Tenants) || len(read.scopes) != len(h.Scopes) ||
		len(read.limits) != len(h.RateLimits) {
		return nil
	}
	return read
}

// restore fills an empty store with the records and ids of a file.
func restore(store *store, header *snapshotHeader, body []byte) *refusedFile {
	ids := body[header.Records*recordBytes:]
	others, ok := textsByPosition(header.OtherIDs, header.Records)
	if !ok {
		return damaged("its header is wrong")
	}
	store.reserve(header.Records)
	store.byDigest, store.byID = newSlotTable(header.Records), newSlotTable(header.Records)
	for slot := uint32(0); slot < uint32(header.Records); slot++ {
		read, ok := recordIn(body[slot*recordBytes:], store.shared)
		if !ok {
			return damaged(fmt.Sprintf("its record %d is wrong", slot))
		}
		read.used = store.uses.Add(1)
		store.records = append(store.records, read)
		store.ids.grow()
		if id, isOther := others[slot]; isOther {
			store.ids.set(slot, id)
		} else {
			store.ids.words[slot] = idIn(ids[slot*idBytes:])
		}
		store.shared.tenants[read.tenant].keys++
		store.byDigest.add(slot, store.digestHash)
		store.byID.add(slot, store.ids.hash)
	}
	store.size = header.Records
	store.acceptsImported = header.AcceptsImported != nil && *header.AcceptsImported
	store.isImportingUnknown = header.AcceptsImported == nil && !header.knew(importedFeature)
	header.restoreLabels(store)
	return nil
}

// recordIn is false for an unknown environment, and for numbers of values that do not exist.
func recordIn(bytes []byte, shared *shared) (read record, ok bool) {
	copy(read.digest[:], bytes)
	read.end = math.Float64frombits(binary.LittleEndian.Uint64(bytes[32:]))
	read.tenant = binary.LittleEndian.Uint32(bytes[48:])
	read.scopes = binary.LittleEndian.Uint32(bytes[52:])
	envAndLimits := binary.LittleEndian.Uint32(bytes[56:])
	env := envAndLimits & 3
	read.limits = envAndLimits >> 2 << 1
	if env == testBits {
		read.limits |= 1
	}
	return read, (env == liveBits || env == testBits) && int(read.tenant) < len(shared.tenants) &&
		int(read.scopes) < len(shared.scopes) && int(read.limits>>1) < len(shared.limits)
}

func textsByPosition(pairs []pair, records int) (map[uint32]string, bool) {
	texts := map[uint32]string{}
	for _, pair := range pairs {
		position, isCount := readCount(pair[0])
		text, isText := readString(pair[1])
		if !isCount || !isText || position >= int64(records) {
			return nil, false
		}
		texts[uint32(position)] = text
	}
	return texts, true
}

func (h *snapshotHeader) restoreLabels(store *store) {
	if h.Labels == nil {
		return
	}
	for _, pair := range h.Labels.Keys {
		position, isCount := readCount(pair[0])
		if label, ok := readMembers(pair[1]); ok && isCount && position < int64(store.size) {
			store.setMeta(uint32(position), metaIn(label))
		}
	}
	for _, pair := range h.Labels.Tenants {
		id, _ := readString(pair[0])
		label, _ := readMembers(pair[1])
		number, isKnown := store.shared.tenantNumbers[id]
		if isKnown && store.shared.tenants[number].keys > 0 {
			tenant := &store.shared.tenants[number]
			tenant.externalID, tenant.hasExternalID = readString(label["externalId"])
		}
	}
	if label, ok := readMembers(h.Labels.Blank); ok && metaIn(label) == blankMeta {
		store.hasBlank = true
	}
}
