package keyrail

import (
	"context"
	"fmt"
	"math"
	"sync"
)

// served is what verification reads. Whoever changes it holds the lock; only the follower does.
type served struct {
	mu    sync.RWMutex
	store *store
	ended *endedKeys
	// isPartial: the store comes from a disk, and may not have all keys.
	isPartial bool
	// evictions of earlier stores.
	evictions int
}

// change runs work that changes what verification reads.
func (s *served) change(work func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	work()
}

// syncResult is what a poll that succeeded has found out.
type syncResult = polled

// follower brings the served store to the version of the service, one poll at a time. The served store
// changes only after an answer, or all pages of a walk, were read and checked. The version is set after that;
// the next poll sends it, which acknowledges it. Only one goroutine polls.
type follower struct {
	settings *settings
	caller   *caller
	clock    clock
	time     *serviceTime
	reports  *reports
	served   *served

	// version is -1 before the first snapshot.
	version     int64
	workspaceID string
	features    []string
	// isResumed: the served keys come from an earlier process, and no answer has confirmed them yet.
	isResumed bool
	// isInDoubt: the last answer was old. The next answer is not held, so that it soon shows the current
	// version.
	isInDoubt      bool
	reseeds, stuck int
	hold           *hold
	dates          *dates
}

func (f *follower) held() int {
	if f.served.store == nil {
		return 0
	}
	return f.served.store.size
}

// lifeMs is how long the held keys will be served; 0 or less: they are stale. NaN: there are none.
func (f *follower) lifeMs() float64 {
	if f.served.store == nil {
		return math.NaN()
	}
	return f.served.store.confirmedAt + f.settings.cachedTTLMs - f.clock.monotonic()
}

// hasServed says whether keys were ever served. A store that an earlier process left too long ago was not.
func (f *follower) hasServed() bool {
	return f.served.store != nil && !math.IsInf(f.served.store.confirmedAt, -1)
}

// poll returns an error if nothing has changed.
func (f *follower) poll(ctx context.Context) (syncResult, *Error) {
	result, err := f.safely(ctx)
	if err != nil {
		f.hold.failed(f.clock.monotonic())
		return result, err
	}
	f.hold.succeeded(f.clock.monotonic())
	f.isResumed = false
	return result, nil
}

// safely reports a bug in this package like any other error: it ends neither the process nor the polling.
// What it left of the keys may lack a change, so the next poll takes a snapshot.
func (f *follower) safely(ctx context.Context) (result syncResult, err *Error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			f.version = -1
			err = passing("internal_error", fmt.Sprintf("The package failed: %v", thrown))
		}
	}()
	return f.pollOnce(ctx)
}

func (f *follower) pollOnce(ctx context.Context) (syncResult, *Error) {
	if f.served.store == nil || f.version < 0 {
		return f.seed(ctx)
	}
	lifeMs := f.lifeMs()
	holdable := lifeMs
	// Keys of an earlier process may have been revoked while none ran.
	if f.isResumed || f.isInDoubt {
		holdable = 0
	}
	asked := feedRequest{path: deltaPath, since: f.version, timeoutMs: plainTimeout(lifeMs)}
	asked.wait = f.hold.ask(holdable, f.clock.monotonic())
	if asked.wait > 0 {
		asked.timeoutMs = float64(asked.wait)*1_000 + heldTimeoutSlackMs
	}
	answer, err := f.ask(ctx, asked)
	if err != nil {
		return syncResult{}, err
	}
	receivedAt := f.clock.monotonic()
	f.hold.answered(receivedAt)
	body := answer.body
	if f.isResumed && body.workspaceID != f.workspaceID {
		// The same project id in another workspace: what the earlier process left belongs to something else.
		f.forget()
		return f.seed(ctx)
	}
	answeredAt, err := f.check(answer)
	if err != nil {
		return syncResult{}, err
	}
	if body.isSnapshot {
		return f.reseed(ctx, feedPage{body, answer.times.sentAt, answeredAt}, answer.waits)
	}
	if body.since != f.version {
		return syncResult{}, badResponse("since, which is not what was asked")
	}
	if f.needsSnapshot(body) {
		first, err := f.page(ctx, "", requestTimeoutMs)
		if err != nil {
			return syncResult{}, err
		}
		return f.reseed(ctx, first, answer.waits)
	}
	return f.take(answer, answeredAt, receivedAt), nil
}

// take applies a delta.
func (f *follower) take(answer *feedAnswer, answeredAt, receivedAt float64) syncResult {
	body := answer.body
	// An answer older than its request came from a cache, also its time. None confirms keys for later than
	// its receipt.
	confirmedAt := answeredAt
	if answeredAt >= answer.times.sentAt {
		confirmedAt = math.Min(answer.times.sentAt+body.heldMs, receivedAt)
	}
	f.served.change(func() {
		f.apply(body)
		f.served.store.confirm(confirmedAt)
	})
	f.report(body.unreadable, oddTenants(body.listed), body.importing.isOdd)
	outcome := gotUnchanged
	if body.version != f.version || len(body.changes) > 0 {
		outcome = gotDelta
		// A process of before left out of these changes what it does not know: the next one that knows
		// more brings a snapshot.
		f.features = body.features
	}
	f.version = body.version
	f.reseeds, f.stuck = 0, 0
	return f.result(outcome, answer.waits)
}

// isNewer: a service that knows more features than before sent its keys without them.
func (f *follower) isNewer(body *feedBody) bool {
	for _, name := range body.features {
		if !contains(f.features, name) {
			return true
		}
	}
	return false
}

func (f *follower) seed(ctx context.Context) (syncResult, *Error) {
	isFirst := !f.hasServed()
	first, err := f.page(ctx, "", requestTimeoutMs)
	if err != nil {
		return syncResult{}, err
	}
	more, err := f.walk(ctx, first)
	if err != nil {
		return syncResult{}, err
	}
	f.reseeds, f.stuck = 0, 0
	result := f.result(gotSnapshot, false)
	result.more, result.first = more, isFirst
	return result, nil
}

// reseed takes a snapshot that came in place of a delta.
func (f *follower) reseed(ctx context.Context, first feedPage, waits bool) (syncResult, *Error) {
	former := f.version
	more, err := f.walk(ctx, first)
	if err != nil {
		return syncResult{}, err
	}
	f.reseeds++
	f.stuck++
	if f.version > former {
		f.stuck = 0
	}
	if f.version < former {
		f.reports.error(versionBack(former, f.version))
	}
	result := f.result(gotSnapshot, waits)
	result.more = more
	return result, nil
}

func (f *follower) result(outcome outcome, waits bool) syncResult {
	f.reports.holds(f.held(), f.settings.maxKeys)
	return syncResult{
		outcome: outcome,
		waits:   waits,
		reseeds: f.reseeds,
		stuck:   f.stuck,
		cutToMs: f.hold.cutToMs(),
		lifeMs:  f.lifeMs(),
	}
}
