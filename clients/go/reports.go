package keyrail

import (
	"fmt"
	"log"
	"sync"
)

// From here on a node reports that it is nearly full: early enough to act before keys are refused.
const fullShare = 0.8

// reports passes errors to the vendor's listener, or else logs the first of each code until a success comes
// without it.
type reports struct {
	onError func(*Error)

	mu sync.Mutex
	// warned are codes already reported: an outage of an hour is reported once.
	warned map[string]bool
	// recent are the codes since the last success: an answer may be applied and have an error nevertheless,
	// poll after poll.
	recent       map[string]bool
	isLacking    bool
	isNearlyFull bool
	last         *Error
}

func newReports(onError func(*Error)) *reports {
	return &reports{onError: onError, warned: map[string]bool{}, recent: map[string]bool{}}
}

func (r *reports) error(err *Error) {
	if r.isNew(err) {
		r.pass(err)
	}
}

func (r *reports) isNew(err *Error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	// One call may be about many requests, each of which meets its error.
	if err == r.last {
		return false
	}
	r.last = err
	// Lasts until somebody changes it, and every request may meet it.
	if err.Code == "insufficient_permission" {
		if r.isLacking {
			return false
		}
		r.isLacking = true
	}
	if r.onError != nil {
		return true
	}
	r.recent[err.Code] = true
	isNew := !r.warned[err.Code]
	r.warned[err.Code] = true
	return isNew
}

func (r *reports) success() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isLacking = false
	r.warned = r.recent
	r.recent = map[string]bool{}
}

// holds notes how many keys a node holds after a poll, of those that it may hold.
func (r *reports) holds(keys, most int) {
	isNearlyFull := float64(keys) >= float64(most)*fullShare
	wasNearlyFull := r.isNearlyFull
	r.isNearlyFull = isNearlyFull
	if isNearlyFull && !wasNearlyFull {
		r.error(lasting("nearly_full", fmt.Sprintf("This node holds %d keys of the %d that it may hold. "+
			"Beyond these it refuses keys as not_held, and a new process does not start. Raise MaxKeys", keys, most)))
	}
}

// pass calls the vendor's listener and survives its panic.
func (r *reports) pass(err *Error) {
	if r.onError == nil {
		log.Printf("keyrail: %s (%s)", err.Message, err.Code)
		return
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			log.Printf("keyrail: OnError panicked")
		}
	}()
	r.onError(err)
}
