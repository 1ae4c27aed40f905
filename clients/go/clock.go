package keyrail

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A clock in milliseconds. Tests replace it.
type clock interface {
	// wall is the time since the epoch, by this machine's clock.
	wall() float64
	// monotonic is never set back, and goes on while the machine sleeps, where the system tells. Only
	// differences mean something.
	monotonic() float64
	// uptime is the time since the machine started; NaN where the system does not tell.
	uptime() float64
}

// The wall and the monotonic clock of a machine may differ by so much without a reason.
const jumpMs = 50

// awakeClock adds the time that the machine slept to the monotonic clock of Go, which stands still meanwhile
// on most systems: keys would be served for longer than allowed. The system is asked, with a call, only when
// the wall clock has gained on the monotonic one, or after a second. Where it does not tell, all that the
// wall clock gains counts as sleep.
type awakeClock struct {
	start time.Time
	from  float64 // the uptime at the start; NaN if unknown

	// Read by every verification, so without a lock.
	wallAhead, sleptMs, askedAt atomicFloat
	mu                          sync.Mutex
}

const askUptimeEveryMs = 1_000

func newAwakeClock() *awakeClock {
	start := time.Now()
	c := &awakeClock{start: start, from: uptimeMs()}
	c.wallAhead.set(wallMs(start))
	return c
}

func (c *awakeClock) wall() float64   { return wallMs(time.Now()) }
func (c *awakeClock) uptime() float64 { return uptimeMs() }

func (c *awakeClock) monotonic() float64 {
	now := time.Now()
	passed := milliseconds(now.Sub(c.start))
	gained := wallMs(now) - passed - c.wallAhead.get()
	if gained > jumpMs || gained < -jumpMs || passed-c.askedAt.get() >= askUptimeEveryMs {
		c.noteSleep()
	}
	return passed + c.sleptMs.get()
}

func (c *awakeClock) noteSleep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	passed := milliseconds(now.Sub(c.start))
	ahead := wallMs(now) - passed
	gained := ahead - c.wallAhead.get()
	c.askedAt.set(passed)
	if gained > jumpMs || gained < -jumpMs {
		c.wallAhead.set(ahead)
	}
	if !math.IsNaN(c.from) {
		c.sleptMs.set(math.Max(c.sleptMs.get(), uptimeMs()-c.from-passed))
	} else if gained > jumpMs {
		c.sleptMs.set(c.sleptMs.get() + gained)
	}
}

// atomicFloat is a number that many goroutines read.
type atomicFloat struct{ bits atomic.Uint64 }

func (f *atomicFloat) get() float64       { return math.Float64frombits(f.bits.Load()) }
func (f *atomicFloat) set(number float64) { f.bits.Store(math.Float64bits(number)) }

func wallMs(at time.Time) float64 { return float64(at.UnixNano()/1_000) / 1_000 }
