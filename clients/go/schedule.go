package keyrail

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// When to send the next request. Pure functions; times in milliseconds, random returns 0 to below 1.

const (
	// Least time between the starts of two requests, to limit the load from a faulty service.
	floorMs          = 100
	firstBackoffMs   = 500
	retryAfterMaxMs  = 30_000
	requestTimeoutMs = 10_000
	// Less than this is too little for an answer over a new connection.
	requestTimeoutMinMs = 2_000
	// An unchanged answer that comes sooner than this was not held as promised: the service is shutting down.
	heldMs = 1_000
	// A request may take this much longer than its answer is held.
	heldTimeoutSlackMs = 5_000
	waitMaxSeconds     = 25
)

// failed says when a failed request may be sent again.
type failed struct {
	// failures in a row, including this one.
	failures     int
	retryAfterMs float64
	// lifeMs is how long the keys will be served; 0 or less: they are stale. NaN: there is nothing that goes
	// stale.
	lifeMs float64
}

// delayAfterError is exponential with full jitter, at most one interval; longer only if the service asks for
// it. Never longer than the life that is left allows.
func delayAfterError(f failed, intervalMs float64, random func() float64) float64 {
	most := math.Min(intervalMs, firstBackoffMs*math.Pow(2, math.Min(float64(f.failures-1), 16)))
	wanted := math.Max(floorMs, math.Max(random()*most, math.Min(f.retryAfterMs, retryAfterMaxMs)))
	if math.IsNaN(f.lifeMs) {
		return wanted
	}
	return math.Max(floorMs, math.Min(mostDelay(f.lifeMs, intervalMs), wanted))
}

// mostDelay is half of the life that is left, so that another attempt fits, and one interval when the keys
// are stale. The halves of the last second would be a burst of requests, from a whole fleet at once.
func mostDelay(lifeMs, intervalMs float64) float64 {
	if lifeMs > 0 {
		return math.Max(firstBackoffMs, lifeMs/2)
	}
	return intervalMs
}

// readRetryAfter reads Retry-After in milliseconds, from seconds or a date; 0 for anything else.
func readRetryAfter(header string, nowMs float64) float64 {
	if isDigits(header, 9) {
		seconds, _ := strconv.Atoi(header)
		return float64(seconds) * 1_000
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return math.Max(0, float64(at.UnixMilli())-nowMs)
}

func isDigits(text string, most int) bool {
	if text == "" || len(text) > most {
		return false
	}
	for at := 0; at < len(text); at++ {
		if text[at] < '0' || text[at] > '9' {
			return false
		}
	}
	return true
}

// plainTimeout is how long to wait for an answer that is not held. A connection may be dead. Once the keys
// are stale, it may be slow, and a short timeout would end each attempt.
func plainTimeout(lifeMs float64) float64 {
	if lifeMs > 0 {
		return math.Min(requestTimeoutMs, math.Max(requestTimeoutMinMs, lifeMs/2))
	}
	return requestTimeoutMs
}

// An outcome of a poll that succeeded.
type outcome string

const (
	gotSnapshot  outcome = "snapshot"
	gotDelta     outcome = "delta"
	gotUnchanged outcome = "unchanged"
)

// polled is what a poll has found out about the next one.
type polled struct {
	outcome outcome
	// waits: the service holds unchanged answers as requested.
	waits bool
	// more: keys may have changed since, because the snapshot had several pages.
	more bool
	// first: the first snapshot of a process. The next poll finds out whether the service holds answers.
	first bool
	// unphased: the first answer of a process that the service did not hold.
	unphased bool
	// reseeds: successive snapshots in place of deltas. stuck: the last of them, whose version did not rise.
	reseeds, stuck int
	// cutToMs: answers are held for no longer than this, because longer holds failed. Infinite otherwise.
	cutToMs float64
	lifeMs  float64
	tookMs  float64
}

// delayAfter says how long to wait after a poll. If the service holds answers: not at all. Otherwise until
// one interval after the start of the last request or slightly sooner, never later, because the interval
// bounds how long a revoked key works. The first interval is cut at random, so that a fleet that starts
// together does not poll together.
func delayAfter(p polled, intervalMs float64, random func() float64) float64 {
	floor := math.Max(0, floorMs-p.tookMs)
	return math.Max(floor, math.Min(mostDelay(p.lifeMs, intervalMs), wantedDelay(p, intervalMs, random)))
}

func wantedDelay(p polled, intervalMs float64, random func() float64) float64 {
	if p.reseeds > 1 {
		return reseedDelay(p, intervalMs, random) - p.tookMs
	}
	if p.more || p.first {
		return 0
	}
	// Holds that were cut to less than the interval would cost the service more than no holds.
	isBrief := p.cutToMs < intervalMs
	if p.waits && !isBrief && (p.outcome != gotUnchanged || p.tookMs >= heldMs) {
		return 0
	}
	if p.unphased {
		return random() * intervalMs
	}
	return intervalMs*(0.9+0.1*random()) - p.tookMs
}

// reseedDelay: a service that keeps answering with snapshots is asked once per interval at most, and ever
// less often while its version does not rise.
func reseedDelay(p polled, intervalMs float64, random func() float64) float64 {
	intervals := math.Pow(2, math.Min(16, math.Max(0, float64(p.stuck-1))))
	most := math.Max(intervalMs, p.lifeMs/2)
	return math.Min(most, intervalMs*intervals) * (0.9 + 0.1*random())
}

// waitSeconds is for how long the service may hold an answer. Even without an answer, the request ends within
// half of the life that is left.
func waitSeconds(lifeMs float64) int {
	most := int(math.Floor((lifeMs/2 - heldTimeoutSlackMs) / 1_000))
	if most > waitMaxSeconds {
		return waitMaxSeconds
	}
	if most < 0 {
		return 0
	}
	return most
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// durationOf is at most a century, because a time of the service may be as far away as it likes.
func durationOf(ms float64) time.Duration {
	const century = 100 * 365 * 24 * 3_600_000
	return time.Duration(math.Min(ms, century) * float64(time.Millisecond))
}
