package keyrail

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"
)

const (
	reportTimeoutMs = 10_000
	reportMaxBytes  = 16 * 1024
	closingAttempts = 3
	closingTime     = 10 * time.Second
)

// usageReport has an id: a report that is sent again counts once.
type usageReport struct {
	ID         string        `json:"report_id"`
	SampleRate int           `json:"sample_rate"`
	Records    []usageRecord `json:"records"`
}

func (r *usageReport) requests() int64 {
	sum := int64(0)
	for at := range r.Records {
		sum += r.Records[at].Count
	}
	return sum
}

// usage counts requests by key, and sends the counts at intervals and at the end, one report after the other.
type usage struct {
	settings *settings
	caller   *caller
	clock    clock
	time     *serviceTime
	reports  *reports
	random   func() float64

	stop context.CancelFunc
	done chan struct{}

	// sendMu is held while reports are sent.
	sendMu       sync.Mutex
	failures     int
	retryAfterMs float64
	hasAskedTime bool

	mu       sync.Mutex
	counts   *counts
	sending  *usageReport // its id and records stay the same until it is acknowledged
	reported int64
	refused  int64 // in reports that the service has refused or ignored
	last     string
	isClosed bool
}

func newUsage(settings *settings, caller *caller, clock clock, reports *reports, random func() float64) *usage {
	return &usage{
		settings: settings, caller: caller, clock: clock, time: newServiceTime(clock), reports: reports,
		random: random, stop: func() {}, done: make(chan struct{}), counts: newCounts(),
	}
}

// start sends at intervals, the first time at random, so that nodes that start together do not report
// together.
func (u *usage) start() {
	ctx, cancel := context.WithCancel(context.Background())
	u.stop = cancel
	go func() {
		defer close(u.done)
		delayMs := u.settings.reportMs * (0.5 + 0.5*u.random())
		for {
			pause(ctx, delayMs)
			if ctx.Err() != nil {
				return
			}
			delayMs = u.send(ctx)
		}
	}()
}

// Count counts requests of a valid key that Protect has not seen. It makes no call.
func (k *Keys) Count(key Verdict, requests int) { k.usage.count(key.KeyID, requests) }

func (u *usage) count(keyID string, requests int) {
	if requests < 1 {
		return
	}
	now := u.time.at(u.clock.monotonic())
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.isClosed {
		u.counts.dropped += int64(requests)
		return
	}
	u.counts.add(keyID, int64(requests), now)
}

func (u *usage) stats() (pending, reported, dropped int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.pending(), u.reported, u.counts.dropped + u.refused
}

func (u *usage) pending() int64 {
	pending := u.counts.total()
	if u.sending != nil {
		pending += u.sending.requests()
	}
	return pending
}

// send sends all counts. It stops at an attempt that fails; the next call repeats that report first. It
// returns how long to wait before the next: after a failure shorter and at random, so that a fleet does not
// report all at once when the service returns.
func (u *usage) send(ctx context.Context) float64 {
	u.sendMu.Lock()
	defer u.sendMu.Unlock()
	for {
		report := u.next(ctx)
		if report == nil {
			return u.settings.reportMs
		}
		if !u.attempt(ctx, report) {
			wait := failed{failures: u.failures, retryAfterMs: u.retryAfterMs, lifeMs: math.NaN()}
			return delayAfterError(wait, u.settings.reportMs, u.random)
		}
	}
}

// next is the report to send, nil if there is none.
func (u *usage) next(ctx context.Context) *usageReport {
	u.mu.Lock()
	sending, hasCounts := u.sending, u.counts.entries > 0
	u.mu.Unlock()
	if sending != nil {
		return sending
	}
	now := u.clock.monotonic()
	if hasCounts && !u.hasAskedTime && math.IsNaN(u.time.known(now)) {
		u.learnTime(ctx)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	records := u.counts.take(u.time.at(u.clock.monotonic()))
	if len(records) == 0 {
		return nil
	}
	u.sending = &usageReport{ID: newUUID(), SampleRate: 1, Records: records}
	return u.sending
}

// attempt returns whether the next report may be sent.
func (u *usage) attempt(ctx context.Context, report *usageReport) bool {
	answered, err := u.caller.call(ctx, request{
		method: http.MethodPost, path: "/v1/usage/reports", body: textOf(report), accepts: []int{202},
		timeoutMs: reportTimeoutMs, maxBytes: reportMaxBytes,
	})
	if err != nil {
		return u.failed(report, err)
	}
	u.learnFrom(answered)
	fields, _ := readMembers(answered.text)
	ignored, _ := readNumber(fields["ignored"])
	u.failures = 0
	last := ""
	if ignored > 0 {
		last = "usage_ignored"
	}
	u.ended(report, last, int(ignored) < len(report.Records))
	if ignored > 0 {
		u.reports.error(lasting("usage_ignored", fmt.Sprintf("%.0f of %d records of a usage report were ignored: "+
			"their key is not in this environment, or their hour is too old or in the future",
			ignored, len(report.Records))))
	} else {
		u.reports.success()
	}
	return true
}

func (u *usage) failed(report *usageReport, err *Error) bool {
	if err.Code == "insufficient_permission" {
		err = lacking(err, "Requests are not counted: give it the preset node")
	}
	// The end has aborted the call, and reports all unsent counts at once.
	if err.Code != "aborted" {
		u.reports.error(err)
	}
	// A report that is invalid in itself would block all later reports for ever.
	if err.Status == http.StatusBadRequest || err.Status == http.StatusRequestEntityTooLarge {
		u.ended(report, err.Code, false)
		return true
	}
	u.failures++
	u.retryAfterMs = milliseconds(err.RetryAfter)
	u.mu.Lock()
	u.last = err.Code
	u.mu.Unlock()
	return false
}

// ended notes that a report is not sent again.
func (u *usage) ended(report *usageReport, last string, isTaken bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if isTaken {
		u.reported += report.requests()
	} else {
		u.refused += report.requests()
	}
	u.sending = nil
	u.last = last
}

// learnTime asks for the time before the first report, so that the report names hours by the service's clock.
func (u *usage) learnTime(ctx context.Context) {
	answered, err := u.caller.call(ctx, request{
		method: http.MethodGet, path: "/v1/healthz", accepts: []int{200, 404},
		timeoutMs: reportTimeoutMs, maxBytes: reportMaxBytes,
	})
	// Without an answer the report will meet and report the same error.
	if err == nil {
		u.learnFrom(answered)
		u.hasAskedTime = true
	}
}

// learnFrom: the first answer with a time corrects the hours of requests that were counted by this machine's
// clock.
func (u *usage) learnFrom(answered *answer) {
	date, ok := dateOf(answered.header)
	if !ok {
		return
	}
	isFirst := math.IsNaN(u.time.known(0))
	u.time.observe(date)
	if isFirst {
		u.mu.Lock()
		u.counts.moveBy(u.time.at(u.clock.monotonic()) - u.clock.wall())
		u.mu.Unlock()
	}
}

// close sends the rest, in up to three attempts.
func (u *usage) close(ctx context.Context) error {
	u.stop()
	<-u.done
	ctx, cancel := context.WithTimeout(ctx, closingTime)
	defer cancel()
	for attempts := 1; ; attempts++ {
		u.send(ctx)
		left, isOver := u.left(attempts == closingAttempts || ctx.Err() != nil)
		if isOver && left > 0 {
			err := lasting("usage_unsent", fmt.Sprintf("%d counted requests were not reported before the end", left))
			u.reports.error(err)
			return err
		}
		if isOver {
			return nil
		}
		pause(ctx, delayAfterError(failed{failures: u.failures, lifeMs: math.NaN()}, 1_000, u.random))
	}
}

// left closes the counts if there are none, or it is over.
func (u *usage) left(isOver bool) (left int64, isClosed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	left = u.pending()
	u.isClosed = isOver || left == 0
	return left, u.isClosed
}
