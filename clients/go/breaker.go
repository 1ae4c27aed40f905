package keyrail

import (
	"context"
	"sync"
)

const timeoutsMax = 5

// breaker limits the wait on a service that hangs. After five calls in a row that timed out, only one call at
// a time is sent, and the others fail at once. Any answer, and any other error, ends that.
type breaker struct {
	caller *caller

	mu        sync.Mutex
	timeouts  int
	isProbing bool
}

func (b *breaker) call(ctx context.Context, asked request) (*answer, *Error) {
	isProbe, ok := b.begin()
	if !ok {
		return nil, passing("service_hangs",
			"The service does not answer in time; one call at a time is sent until it does")
	}
	answer, err := b.caller.call(ctx, asked)
	b.end(isProbe, err)
	return answer, err
}

func (b *breaker) begin() (isProbe, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timeouts < timeoutsMax {
		return false, true
	}
	if b.isProbing {
		return false, false
	}
	b.isProbing = true
	return true, true
}

func (b *breaker) end(isProbe bool, err *Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if isProbe {
		b.isProbing = false
	}
	switch {
	case err == nil:
		b.timeouts = 0
	case err.Code == "timeout":
		b.timeouts++
	// A customer who leaves says nothing about the service.
	case err.Code != "aborted":
		b.timeouts = 0
	}
}
