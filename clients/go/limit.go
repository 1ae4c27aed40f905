package keyrail

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
)

// The codes of a LimitVerdict beside Valid.
const (
	// Allowed: the request was charged.
	Allowed Code = "allowed"
	// NoLimits: the key has none, so nothing was asked.
	NoLimits Code = "no_limits"
	// Unchecked: the service was not available, and Options.AllowUnchecked is set; or the secret key may not
	// check limits.
	Unchecked Code = "unchecked"
	// RateLimited: the key has used up a limit. Answer 429.
	RateLimited Code = "rate_limited"
	// LimitsUnavailable: the limits cannot be checked now. Answer 503.
	LimitsUnavailable Code = "limits_unavailable"
	// Misused: the verdict is not that of a valid key, or the cost is not from 0 to 1,000. Answer 500.
	Misused Code = "misused"
)

// A LimitVerdict is the result of a check of limits.
type LimitVerdict struct {
	Allowed bool
	Code    Code
	// Headers are for any answer: RateLimit-Policy, RateLimit and Retry-After, as far as they are known.
	Headers http.Header
	// Limits is what is left of the limits that decided; nil if the service did not say.
	Limits []LimitState
	// DeniedBy are the ids of the limits that are used up.
	DeniedBy []string
}

// Status is the status with which to answer a request that is not allowed: 429, 503 or 500; otherwise 200.
func (v LimitVerdict) Status() int {
	switch v.Code {
	case RateLimited:
		return http.StatusTooManyRequests
	case LimitsUnavailable:
		return http.StatusServiceUnavailable
	case Misused:
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

const (
	// CostMax is the largest cost of a request that the service accepts.
	CostMax = 1_000
	// For how long the service is not asked again after it answered that the secret key lacks the permission.
	lackingMs     = 10_000
	checkMaxBytes = 64 * 1024
)

// limiter charges requests to the limits of their keys, with one call for each. No check is repeated, because
// one without an answer may have been charged.
type limiter struct {
	settings *settings
	breaker  *breaker
	clock    clock
	reports  *reports
	denials  *denials

	mu           sync.Mutex
	lackingUntil float64
}

func newLimiter(settings *settings, caller *caller, clock clock, reports *reports) *limiter {
	return &limiter{
		settings: settings, breaker: &breaker{caller: caller}, clock: clock, reports: reports,
		denials:      newDenials(),
		lackingUntil: math.Inf(-1),
	}
}

// Limit charges a request to all limits of its key, or to none, with one call of the service. A key without
// limits needs no call, and neither does one that was denied and cannot have anything left yet. cost is how
// much the request takes from every limit, 0 to 1,000; 0 checks without taking. A context that ends may leave
// the request charged.
func (k *Keys) Limit(ctx context.Context, key Verdict, cost int) LimitVerdict {
	return k.limiter.limit(ctx, &key, cost)
}

func (l *limiter) limit(ctx context.Context, key *Verdict, cost int) LimitVerdict {
	if !key.IsValid() || cost < 0 || cost > CostMax {
		l.reports.error(lasting("misused", fmt.Sprintf("Limit was given a verdict of the code %q and the cost %d: "+
			"call it only for a valid key, with a cost from 0 to %d", key.Code, cost, CostMax)))
		return LimitVerdict{Code: Misused, Headers: http.Header{}}
	}
	if key.limits == nil {
		return LimitVerdict{Allowed: true, Code: NoLimits, Headers: http.Header{}}
	}
	now := l.clock.monotonic()
	if l.lacks(now) {
		return passed(Unchecked)
	}
	if denied, ok := l.denials.find(key, cost, now); ok {
		return denied
	}
	answer, err := l.ask(ctx, key, cost)
	if err == nil {
		if !answer.isAllowed {
			l.denials.add(key, cost, now, answer)
		}
		return verdictOf(answer)
	}
	isLacking := err.Code == "insufficient_permission"
	if isLacking || l.settings.allowUnchecked && isUnchecked(err) {
		return passed(Unchecked)
	}
	return LimitVerdict{Code: LimitsUnavailable, Headers: http.Header{"Retry-After": {"1"}}}
}

// isUnchecked says whether a check failed in a way that says nothing about the key: the service was
// unavailable, or it cannot hold a further counter. A refusal, as for a revoked secret key, is worse than no
// answer.
func isUnchecked(err *Error) bool { return isOutage(err) || err.Code == "counter_limit_reached" }

func passed(code Code) LimitVerdict {
	return LimitVerdict{Allowed: true, Code: code, Headers: http.Header{}}
}

func (l *limiter) lacks(now float64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now < l.lackingUntil
}

// ask makes the call and reports its error.
func (l *limiter) ask(ctx context.Context, key *Verdict, cost int) (*checkAnswer, *Error) {
	body := textOf(map[string]any{
		"project_id": l.settings.scope.project,
		"env":        key.Env,
		"key_id":     key.KeyID,
		"tenant_id":  key.TenantID,
		"cost":       cost,
		// Unchanged: the service checks them, and may know more kinds than this version.
		"limits": json.RawMessage(key.limits.text),
	})
	answered, err := l.breaker.call(ctx, request{
		method: http.MethodPost,
		path:   "/v1/ratelimit/check",
		// The service tells nodes of the SDK how many nodes check limits.
		headers:   map[string]string{"Keyrail-Node": l.settings.node},
		body:      body,
		accepts:   []int{200},
		timeoutMs: l.settings.limitTimeoutMs,
		maxBytes:  checkMaxBytes,
	})
	if err == nil {
		l.reports.success()
		var answer *checkAnswer
		if answer, err = readCheck(answered.text, key.limits.rules); err == nil {
			return answer, nil
		}
	}
	if err.Code == "insufficient_permission" {
		l.mu.Lock()
		l.lackingUntil = l.clock.monotonic() + lackingMs
		l.mu.Unlock()
		err = lacking(err, "Requests pass without limits: give it the preset node")
	}
	// The call that probes reports the failure of the others.
	if err.Code != "service_hangs" && err.Code != "aborted" {
		l.reports.error(err)
	}
	return nil, err
}

// lacking says what a lacking permission means for requests.
func lacking(err *Error, outcome string) *Error {
	told := *err
	told.Message = strings.TrimSuffix(told.Message, ".") + ". " + outcome
	return &told
}

func verdictOf(answer *checkAnswer) LimitVerdict {
	if answer.isAllowed {
		return LimitVerdict{Allowed: true, Code: Allowed, Headers: headerOf(answer.headers), Limits: answer.states}
	}
	headers := answer.headers
	if !math.IsNaN(answer.retryAfterMs) && !math.IsInf(answer.retryAfterMs, 1) {
		headers["retry-after"] = retryAfterHeader(answer.retryAfterMs)
	}
	return denied(answer.deniedBy, headers, answer.states)
}

func denied(deniedBy []string, headers map[string]string, states []LimitState) LimitVerdict {
	return LimitVerdict{Code: RateLimited, Headers: headerOf(headers), Limits: states, DeniedBy: deniedBy}
}

func headerOf(values map[string]string) http.Header {
	header := http.Header{}
	for name, value := range values {
		header.Set(name, value)
	}
	return header
}
