package keyrail

import (
	"context"
)

// walk walks through the pages and replaces the served store. The whole counts as confirmed when the walk
// began, which is the time of its version: a later page may have been read that early. It returns whether
// there was more than one page.
func (f *follower) walk(ctx context.Context, first feedPage) (bool, *Error) {
	w := f.newWalk(first)
	if err := w.run(ctx, first.body); err != nil {
		return false, err
	}
	// Pages of a cache may be older. Keys that live are not replaced by older ones.
	late := f.clock.monotonic() - w.confirmedAt
	if late >= f.settings.cachedTTLMs && f.lifeMs() > 0 {
		return false, cachedAnswer(late, "")
	}
	w.store.confirm(w.confirmedAt)
	f.served.change(func() {
		former := f.served.store
		if w.last.isDeleted && former != nil {
			f.served.ended.addAll(former, w.last.generatedAt)
		}
		if !w.last.isDeleted {
			// A snapshot does not say why a key is missing, so such keys are unknown.
			for _, digest := range w.renewed {
				f.served.ended.forget(digest)
			}
		}
		if former != nil {
			f.served.evictions += former.evictions
		}
		f.served.store = w.store
		f.served.isPartial = false
	})
	f.workspaceID = first.body.workspaceID
	f.version = first.body.version
	f.features = w.features
	f.report(w.unreadable, w.oddTenants, w.isImportingOdd)
	return w.last != first.body, nil
}

// page asks for one page of a snapshot.
func (f *follower) page(ctx context.Context, cursor string, mostMs float64) (feedPage, *Error) {
	timeoutMs := float64(requestTimeoutMs)
	if mostMs < timeoutMs {
		timeoutMs = mostMs
	}
	answer, err := f.ask(ctx, feedRequest{path: snapshotPath, cursor: cursor, timeoutMs: timeoutMs})
	if err != nil {
		return feedPage{}, err
	}
	if !answer.body.isSnapshot {
		return feedPage{}, badResponse("object")
	}
	if f.isResumed && answer.body.workspaceID != f.workspaceID {
		f.forget()
	}
	answeredAt, err := f.check(answer)
	return feedPage{answer.body, answer.times.sentAt, answeredAt}, err
}

// check returns when the answer was given.
func (f *follower) check(answer *feedAnswer) (float64, *Error) {
	if f.workspaceID != "" && answer.body.workspaceID != f.workspaceID {
		return 0, badResponse("workspace_id, which is another than before")
	}
	answeredAt := f.time.answered(answer.times.generatedAt, answer.times.sentAt)
	f.isInDoubt = answeredAt < answer.times.sentAt-lateMs
	if odd := f.dates.odd(answer.times, answeredAt); odd != nil {
		f.reports.error(odd)
	}
	return answeredAt, nil
}

func (f *follower) forget() {
	f.served.change(func() {
		f.served.store = nil
		f.served.ended.clear()
	})
	f.version = -1
	f.workspaceID = ""
	f.isResumed = false
}

func (f *follower) report(keys []unreadable, tenants []listedTenant, isImportingOdd bool) {
	if len(keys) > 0 {
		f.reports.error(unreadableKeys(keys))
	}
	for _, member := range []string{"suspended", "allowed_cidrs"} {
		if ids := idsOfOdd(tenants, member); len(ids) > 0 {
			f.reports.error(unreadableTenants(ids, member))
		}
	}
	if isImportingOdd {
		f.reports.error(unreadableImporting())
	}
}

// apply changes the served store by a delta.
func (f *follower) apply(body *feedBody) {
	store, ended := f.served.store, f.served.ended
	// A service that does not say either has no such keys.
	if store.isImportingUnknown {
		store.setAcceptsImported(false)
	}
	if body.isDeleted {
		ended.addAll(store, body.generatedAt)
		store.clear()
		return
	}
	for _, named := range body.tenants {
		store.shared.setTenant(named)
		store.revision++
	}
	store.setListed(body)
	if body.importing.isSaid {
		store.setAcceptsImported(body.importing.accepts)
	}
	for at := range body.changes {
		change := &body.changes[at]
		if change.upsert != nil {
			ended.forget(change.upsert.digest)
			if !body.listsNetworks {
				store.keepNetworks(change.upsert)
			}
			store.upsert(change.upsert)
			continue
		}
		f.endKey(change, body.generatedAt)
		store.remove(change.names)
	}
	store.shared.prune(body.tenants)
}

// endKey notes why a key is gone, if its digest is known.
func (f *follower) endKey(change *change, generatedAt float64) {
	store, ended := f.served.store, f.served.ended
	names := &change.names
	switch {
	case !names.hasDigest:
	case change.isUnreadable:
		ended.forget(names.digest)
	case change.hasCause:
		ended.addCause(names.digest, change.cause)
	default:
		if slot, ok := store.find(&names.digest); ok {
			ended.add(&store.records[slot], generatedAt)
		}
	}
}
