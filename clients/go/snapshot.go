package keyrail

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
)

// The format of the disk snapshot, which is that of the SDK for JavaScript, so that either reads what the
// other wrote:
//
//	format (20) | word order (4) | length of the header (4) | header, JSON | zeros up to a multiple of 64
//	| records, 64 bytes each | key ids, 16 bytes each | SHA-256 of all before it (32)
//
// A record, in little-endian words of four bytes:
//
//	word 0–7    digest
//	word 8–9    end (end.go), as a double
//	word 10–11  stamp of the last use, as a double
//	word 12     number of the tenant id
//	word 13     number of the scopes
//	word 14     environment in bits 0–1 (live 1, test 2), number of the limits above them
//	word 15     without a meaning
//
// A key id that is a UUID has four words, each the number of eight digits. The checksum detects damage by a
// disk or a crash. Permissions of the directory protect against attackers.

const (
	snapshotFormat = "keyrail-policy-v001\n"
	// Written in the byte order of the machine: another byte order reads another number.
	wordOrder   = 0x0a0b0c0d
	headBytes   = len(snapshotFormat) + 8
	sumBytes    = sha256.Size
	recordBytes = 64
	idBytes     = 16
	liveBits    = 1
	testBits    = 2
)

// confirmation is when keys were last confirmed, by three clocks in milliseconds. service is NaN if unknown.
type confirmation struct {
	wall, uptime, service float64
}

// snapshotHeader is stored as JSON, with the field names of the feed.
type snapshotHeader struct {
	WorkspaceID     string            `json:"workspace_id"`
	ProjectID       string            `json:"project_id"`
	Env             *string           `json:"env"`
	Service         *string           `json:"service,omitempty"`
	Version         int64             `json:"version"`
	FetchedAt       float64           `json:"fetched_at"`
	FetchedUptimeMs float64           `json:"fetched_uptime_ms"`
	ServiceAt       *float64          `json:"service_at,omitempty"`
	Complete        bool              `json:"complete"`
	Scope           *snapshotScope    `json:"scope,omitempty"`
	Evictions       int               `json:"evictions"`
	Uses            int64             `json:"uses"`
	Features        *snapshotFeatures `json:"features,omitempty"`
	Labels          *snapshotLabels   `json:"labels,omitempty"`
	Suspended       *[]string         `json:"suspended,omitempty"`
	Networks        *snapshotNetworks `json:"allowed_cidrs,omitempty"`
	AcceptsImported *bool             `json:"accepts_imported,omitempty"`
	Records         int               `json:"records"`
	OtherIDs        []pair            `json:"other_ids"`
	Tenants         []string          `json:"tenants"`
	Scopes          [][]string        `json:"scopes"`
	RateLimits      []json.RawMessage `json:"rate_limits"`
}

type snapshotScope struct {
	TenantIDs []string `json:"tenant_ids"`
}

// snapshotFeatures are those that the writer asked for, and those that the service knew.
type snapshotFeatures struct {
	Asked []string `json:"asked"`
	Known []string `json:"known"`
}

// pair is a position or tenant id, and what belongs to it.
type pair [2]json.RawMessage

func pairOf(first, second any) pair { return pair{textOf(first), textOf(second)} }

// snapshotLabels are pairs of a position or tenant id and a label. Blank is the label of every key that is
// not in Keys.
type snapshotLabels struct {
	Keys    []pair          `json:"keys"`
	Tenants []pair          `json:"tenants"`
	Blank   json.RawMessage `json:"blank,omitempty"`
}

// kept are the keys that a node holds, from which the next process continues.
type kept struct {
	store       *store
	version     int64
	workspaceID string
	// isWhole: a key that is missing here does not exist in the service either.
	isWhole  bool
	features []string
}

// kept is nil before the first snapshot.
func (f *follower) kept() *kept {
	if f.served.store == nil || f.version < 0 || f.workspaceID == "" {
		return nil
	}
	return &kept{f.served.store, f.version, f.workspaceID, !f.served.isPartial, f.features}
}

func envOfFile(scope *scope) *string {
	if scope.env == "both" {
		return nil
	}
	return &scope.env
}

func encodeSnapshot(k *kept, scope *scope, at confirmation) []byte {
	store := k.store
	header := snapshotHeader{
		WorkspaceID: k.workspaceID, ProjectID: scope.project, Env: envOfFile(scope), Service: &scope.service,
		Version: k.version, FetchedAt: at.wall, FetchedUptimeMs: at.uptime,
		Complete:  k.isWhole && store.evictions == 0 && len(scope.tenants) == 0,
		Scope:     &snapshotScope{TenantIDs: scope.tenants},
		Evictions: store.evictions, Uses: int64(store.size),
		Features: &snapshotFeatures{Asked: features, Known: append([]string{}, k.features...)},
		Labels:   labelsOf(store), Suspended: suspendedOf(store), Networks: networksForDisk(store),
		Records: store.size, OtherIDs: []pair{}, Tenants: []string{}, Scopes: [][]string{},
		RateLimits: []json.RawMessage{json.RawMessage("[]")},
	}
	if store.acceptsImported {
		header.AcceptsImported = &store.acceptsImported
	}
	if !math.IsNaN(at.service) {
		header.ServiceAt = &at.service
	}
	position := 0
	store.each(func(slot uint32) {
		if id, isOther := store.ids.others[slot]; isOther {
			header.OtherIDs = append(header.OtherIDs, pairOf(position, id))
		}
		position++
	})
	for at := range store.shared.tenants {
		header.Tenants = append(header.Tenants, store.shared.tenants[at].id)
	}
	header.Scopes = append(header.Scopes, store.shared.scopes...)
	for _, set := range store.shared.limits[1:] {
		header.RateLimits = append(header.RateLimits, json.RawMessage(set.text))
	}
	return assemble(&header, store)
}

func suspendedOf(store *store) *[]string {
	ids := make([]string, 0, len(store.suspended))
	for id := range store.suspended {
		ids = append(ids, id)
	}
	return &ids
}

func labelsOf(store *store) *snapshotLabels {
	labels := &snapshotLabels{Keys: []pair{}, Tenants: []pair{}}
	position := 0
	store.each(func(slot uint32) {
		if meta, isOwn := store.metas[slot]; isOwn {
			labels.Keys = append(labels.Keys, pairOf(position, map[string]any{"meta": json.RawMessage(meta)}))
		}
		position++
	})
	for at := range store.shared.tenants {
		tenant := &store.shared.tenants[at]
		label := map[string]any{}
		if tenant.hasExternalID {
			label["externalId"] = tenant.externalID
		}
		if tenant.keys > 0 {
			labels.Tenants = append(labels.Tenants, pairOf(tenant.id, label))
		}
	}
	if store.hasBlank {
		labels.Blank = json.RawMessage(`{"meta":{}}`)
	}
	return labels
}

// assemble lays out the parts and appends the checksum.
func assemble(header *snapshotHeader, store *store) []byte {
	text := textOf(header)
	recordsAt := alignedTo64(headBytes + len(text))
	idsAt := recordsAt + store.size*recordBytes
	sumAt := idsAt + store.size*idBytes
	file := make([]byte, sumAt+sumBytes)
	copy(file, snapshotFormat)
	binary.LittleEndian.PutUint32(file[len(snapshotFormat):], wordOrder)
	binary.LittleEndian.PutUint32(file[len(snapshotFormat)+4:], uint32(len(text)))
	copy(file[headBytes:], text)
	position := 0
	store.each(func(slot uint32) {
		putRecord(file[recordsAt+position*recordBytes:], &store.records[slot], position)
		putID(file[idsAt+position*idBytes:], store.ids.words[slot])
		position++
	})
	sum := sha256.Sum256(file[:sumAt])
	copy(file[sumAt:], sum[:])
	return file
}

func putRecord(into []byte, record *record, position int) {
	copy(into, record.digest[:])
	binary.LittleEndian.PutUint64(into[32:], math.Float64bits(record.end))
	// Stamps are unique and not 0; their order is that of the records, because this package notes few uses.
	binary.LittleEndian.PutUint64(into[40:], math.Float64bits(float64(position+1)))
	binary.LittleEndian.PutUint32(into[48:], record.tenant)
	binary.LittleEndian.PutUint32(into[52:], record.scopes)
	env := uint32(liveBits)
	if record.env() == "test" {
		env = testBits
	}
	binary.LittleEndian.PutUint32(into[56:], record.limits>>1<<2|env)
}

// putID turns each group of four bytes around: there they are a number in the byte order of the machine.
func putID(into []byte, id [16]byte) {
	for at := 0; at < idBytes; at += 4 {
		binary.LittleEndian.PutUint32(into[at:], binary.BigEndian.Uint32(id[at:]))
	}
}

func idIn(bytes []byte) (id [16]byte) {
	putID(id[:], *(*[16]byte)(bytes[:idBytes]))
	return id
}

func alignedTo64(at int) int { return (at + 63) / 64 * 64 }

func isSummed(file []byte) bool {
	sumAt := len(file) - sumBytes
	sum := sha256.Sum256(file[:sumAt])
	return bytes.Equal(sum[:], file[sumAt:])
}
