package keyrail

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Polls counts polls by outcome.
type Polls struct {
	Snapshot, Delta, Unchanged, Error int
}

// poller polls until closed. Before the first success an error that is not retryable stops it, so that a
// wrong secret shows at startup. After that no error does, so that a running fleet survives a mistake.
type poller struct {
	follower *follower
	random   func() float64
	// polled is called after every successful poll.
	polled func()

	hasPhase bool
	failures int
	// ready is closed when keys can be verified, or never will be.
	ready chan struct{}

	mu       sync.Mutex
	outcomes Polls
	last     *Error
	isReady  bool
	fatal    *Error
}

func newPoller(follower *follower, random func() float64, polled func()) *poller {
	return &poller{follower: follower, random: random, polled: polled, ready: make(chan struct{})}
}

// run polls until the context ends or an error is fatal.
func (p *poller) run(ctx context.Context) {
	for ctx.Err() == nil {
		delayMs, goesOn := p.pollOnce(ctx)
		if !goesOn {
			return
		}
		pause(ctx, delayMs)
	}
}

// pollOnce returns how long to wait before the next poll, or false to stop.
func (p *poller) pollOnce(ctx context.Context) (delayMs float64, goesOn bool) {
	f := p.follower
	startedAt := f.clock.monotonic()
	result, err := f.poll(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return 0, false
		}
		return p.fail(err)
	}
	p.failures = 0
	overflow := p.overflow()
	p.note(result.outcome, overflow)
	if overflow != nil {
		f.reports.error(overflow)
	} else {
		f.reports.success()
	}
	// A walk may have taken longer than its keys are served, and only the next answer confirms them then.
	if result.lifeMs > 0 {
		p.settle(nil)
	}
	p.polled()
	result.unphased = !p.hasPhase && !result.first && !result.waits
	if result.unphased {
		p.hasPhase = true
	}
	result.tookMs = f.clock.monotonic() - startedAt
	return delayAfter(result, f.settings.pollIntervalMs, p.random), true
}

// overflow is the error to report after every poll while keys are not held for lack of room.
func (p *poller) overflow() *Error {
	store := p.follower.served.store
	if store == nil || store.evictions == 0 {
		return nil
	}
	return tooManyKeys(store.maxKeys, false)
}

func (p *poller) note(outcome outcome, err *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = err
	switch outcome {
	case gotSnapshot:
		p.outcomes.Snapshot++
	case gotDelta:
		p.outcomes.Delta++
	case gotUnchanged:
		p.outcomes.Unchanged++
	default:
		p.outcomes.Error++
	}
}

func (p *poller) fail(err *Error) (delayMs float64, goesOn bool) {
	f := p.follower
	p.failures++
	isReady := p.servesOrDid()
	isOver := !isReady && !err.Retryable
	if !isOver {
		// A detail of the service is a sentence. A copy: the error may be held elsewhere.
		told := *err
		told.Message = strings.TrimSuffix(told.Message, ".") + ". Still trying"
		if !isReady {
			told.Message += ", and Ready waits"
		}
		err = &told
	}
	p.note("", err)
	f.reports.error(err)
	if isOver {
		p.settle(err)
		return 0, false
	}
	wait := failed{failures: p.failures, retryAfterMs: milliseconds(err.RetryAfter), lifeMs: f.lifeMs()}
	return delayAfterError(wait, f.settings.pollIntervalMs, p.random), true
}

// settle ends the wait for keys: with an error if none will come.
func (p *poller) settle(fatal *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isReady || p.fatal != nil {
		return
	}
	p.isReady, p.fatal = fatal == nil, fatal
	close(p.ready)
}

func (p *poller) servesOrDid() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isReady
}

// state returns the counts and the error of the last poll, nil if it succeeded, and why there will be no
// keys.
func (p *poller) state() (outcomes Polls, last, fatal *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outcomes, p.last, p.fatal
}

// pause ends early with the context.
func pause(ctx context.Context, ms float64) {
	if ms <= 0 {
		return
	}
	timer := time.NewTimer(durationOf(ms))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
