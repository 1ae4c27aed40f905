package keyrail

import (
	"context"
	"fmt"
	"math"
)

const (
	// A walk with more empty pages than this makes no progress.
	emptyPagesMax = 64
	// The pages that any walk may have, plus one for every keysAPage keys that the node may hold.
	pagesMax  = 2_000
	keysAPage = 100
	// After this part of the time that keys are served, the node gives a walk up: the keys of a walk count as
	// confirmed when it began. If no keys are served, nothing goes stale meanwhile, and a large project over
	// a slow network becomes ready at last.
	walkMost         = 0.9
	walkMostUnserved = 10
)

// walkGuard ensures that a walk ends: key ids rise from page to page, no cursor repeats, and the number of
// pages is limited. Otherwise a service that repeats itself would keep the node busy, without an error, until
// its keys are stale.
type walkGuard struct {
	first             *feedBody
	most              int
	cursors           map[string]bool
	pages, emptyPages int
	lastID            string
}

func newWalkGuard(first *feedBody, maxKeys int) walkGuard {
	return walkGuard{first: first, most: pagesMax + (maxKeys+keysAPage-1)/keysAPage, cursors: map[string]bool{}}
}

func (g *walkGuard) check(page *feedBody) *Error {
	if page.version != g.first.version {
		return badResponse("version, which changed within a walk")
	}
	if page.workspaceID != g.first.workspaceID {
		return badResponse("workspace_id, which changed within a walk")
	}
	for at := range page.keys {
		if page.keys[at].keyID <= g.lastID {
			return badResponse("keys, whose ids do not rise")
		}
		g.lastID = page.keys[at].keyID
	}
	if page.nextCursor == "" {
		return nil
	}
	if g.cursors[page.nextCursor] {
		return badResponse("next_cursor, which came before")
	}
	g.cursors[page.nextCursor] = true
	if g.pages++; g.pages >= g.most {
		return badResponse(fmt.Sprintf("next_cursor, after %d pages", g.pages))
	}
	if len(page.keys) == 0 {
		if g.emptyPages++; g.emptyPages > emptyPagesMax {
			return badResponse("keys, which are empty page after page")
		}
	}
	return nil
}

// feedPage is a page of a walk, and when it was asked for and given.
type feedPage struct {
	body               *feedBody
	sentAt, answeredAt float64
}

// walk reads the pages of a snapshot into a new store, beside the served one.
type walk struct {
	follower *follower
	store    *store
	guard    walkGuard
	// renewed are ended keys that the feed sends again.
	renewed    []digest
	unreadable []unreadable
	oddTenants []listedTenant
	// isImportingOdd: what a page says of keys from elsewhere cannot be read.
	isImportingOdd bool
	// features are those that every page knew.
	features []string
	last     *feedBody

	isFull, isSlow bool
	pages          int
	beganAt        float64
	mostMs         float64
	confirmedAt    float64
}

func (f *follower) newWalk(first feedPage) *walk {
	part := float64(walkMostUnserved)
	if f.lifeMs() > 0 {
		part = walkMost
	}
	return &walk{
		follower:    f,
		store:       newStore(f.settings.maxKeys),
		guard:       newWalkGuard(first.body, f.settings.maxKeys),
		features:    first.body.features,
		pages:       1,
		beganAt:     first.sentAt,
		mostMs:      f.settings.cachedTTLMs * part,
		confirmedAt: first.answeredAt,
	}
}

func (w *walk) tookMs() float64 { return w.follower.clock.monotonic() - w.beganAt }

// run reads all pages. It returns an error if a page does not continue the ones before it, or the keys do not
// fit.
func (w *walk) run(ctx context.Context, page *feedBody) *Error {
	for {
		startedAt := w.follower.clock.monotonic()
		if err := w.guard.check(page); err != nil {
			return err
		}
		w.last = page
		accepts := page.importing.accepts || w.store.acceptsImported
		w.isImportingOdd = w.isImportingOdd || page.importing.isOdd
		if page.isDeleted {
			w.store = newStore(w.store.maxKeys)
			w.store.acceptsImported = accepts
			return nil
		}
		w.store.acceptsImported = accepts
		if err := w.add(page); err != nil {
			return err
		}
		if page.nextCursor == "" {
			return nil
		}
		pause(ctx, pageFloorMs-(w.follower.clock.monotonic()-startedAt))
		next, err := w.next(ctx, page.nextCursor)
		if err != nil {
			return err
		}
		page = next
	}
}

func (w *walk) add(page *feedBody) *Error {
	f := w.follower
	for _, named := range page.tenants {
		w.store.shared.setTenant(named)
	}
	if err := w.list(page); err != nil {
		return err
	}
	for at := range page.keys {
		key := &page.keys[at]
		if f.served.ended.code(&key.digest) != "" {
			w.renewed = append(w.renewed, key.digest)
		}
		if !w.isFull && w.store.size >= w.store.maxKeys && !w.store.hasID(key.keyID) {
			if !f.hasServed() {
				return tooManyKeys(w.store.maxKeys, true)
			}
			// The served keys stay: of the remaining keys, only those that were held before.
			w.store.keepOnly(f.served.store)
			w.isFull = true
		}
		if w.isFull && !f.served.store.hasID(key.keyID) {
			w.store.evictions++
		} else {
			w.store.upsert(key)
		}
	}
	w.store.shared.prune(page.tenants)
	var known []string
	for _, name := range w.features {
		if contains(page.features, name) {
			known = append(known, name)
		}
	}
	w.features = known
	w.unreadable = append(w.unreadable, page.unreadable...)
	return nil
}

func (w *walk) next(ctx context.Context, cursor string) (*feedBody, *Error) {
	f := w.follower
	if !w.isSlow && w.tookMs() > f.settings.cachedTTLMs/2 {
		w.isSlow = true
		f.reports.error(slowSnapshot(w.pages, w.tookMs(), true))
	}
	leftMs := w.mostMs - w.tookMs()
	if leftMs <= 0 {
		return nil, slowSnapshot(w.pages, w.tookMs(), false)
	}
	page, err := f.page(ctx, cursor, leftMs)
	if err != nil && w.tookMs() >= w.mostMs {
		return nil, slowSnapshot(w.pages, w.tookMs(), false)
	}
	if err != nil {
		return nil, err
	}
	w.pages++
	w.confirmedAt = math.Min(w.confirmedAt, page.answeredAt)
	return page.body, nil
}
