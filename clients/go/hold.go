package keyrail

import "math"

// How long the hold stays as it is before it grows. Doubles with each hold that fails.
const (
	holdQuietMinMs = 60_000
	holdQuietMaxMs = 3_600_000
)

// hold decides for how long the service may hold each answer. A proxy may give up before the service answers,
// so after any failure the next polls are plain until one succeeds, and then the hold is half as long as the
// hold that failed. Holds grow slowly, and ever more slowly while they fail, because the proxy may be fixed
// by now or never was the cause.
type hold struct {
	mostSeconds int
	growsAt     float64
	// isPlain: the last poll failed.
	isPlain bool
	// failures: how many holds have failed since one lasted longer than the last that failed.
	failures      int
	failedAfterMs float64
	seconds       int
	askedAt       float64
	// tookMs is NaN until the answer could be read.
	tookMs float64
}

func newHold() *hold {
	return &hold{mostSeconds: waitMaxSeconds, growsAt: math.Inf(1), tookMs: math.NaN()}
}

// ask returns the seconds for which the next answer may be held; 0: ask for an immediate answer.
func (h *hold) ask(lifeMs, now float64) int {
	h.seconds = waitSeconds(lifeMs)
	if h.mostSeconds < h.seconds {
		h.seconds = h.mostSeconds
	}
	if h.isPlain {
		h.seconds = 0
	}
	h.askedAt = now
	h.tookMs = math.NaN()
	return h.seconds
}

// inUse is for how many seconds the next answer may be held; 0 after a failure.
func (h *hold) inUse() int {
	if h.isPlain {
		return 0
	}
	return h.mostSeconds
}

// cutToMs is how long an answer may be held while that is less than a service allows; infinite otherwise.
func (h *hold) cutToMs() float64 {
	if h.mostSeconds < waitMaxSeconds {
		return float64(h.mostSeconds) * 1_000
	}
	return math.Inf(1)
}

// answered: the answer can be read. A failure after that has nothing to do with the hold.
func (h *hold) answered(now float64) { h.tookMs = now - h.askedAt }

func (h *hold) succeeded(now float64) {
	h.isPlain = false
	// A comparison with NaN is false.
	if h.seconds > 0 && h.tookMs > h.failedAfterMs {
		h.failures = 0
	}
	h.seconds = 0
	if now < h.growsAt {
		return
	}
	h.mostSeconds *= 2
	if h.mostSeconds < 1 {
		h.mostSeconds = 1
	}
	if h.mostSeconds > waitMaxSeconds {
		h.mostSeconds = waitMaxSeconds
	}
	h.growsAt = now + h.quiet()
}

func (h *hold) failed(now float64) {
	seconds := h.seconds
	if !math.IsNaN(h.tookMs) {
		seconds = 0
	}
	h.isPlain = true
	h.seconds = 0
	if seconds == 0 {
		return
	}
	tookMs := now - h.askedAt
	h.failedAfterMs = tookMs
	h.failures++
	// A single failure that comes at once would have come without a hold too.
	if tookMs < heldMs && h.failures == 1 {
		return
	}
	h.mostSeconds = seconds / 2
	if least := int(math.Floor(tookMs / 2_000)); least < h.mostSeconds {
		h.mostSeconds = least
	}
	h.growsAt = now + h.quiet()
}

func (h *hold) quiet() float64 {
	return math.Min(holdQuietMaxMs, holdQuietMinMs*math.Pow(2, math.Max(0, float64(h.failures-1))))
}
