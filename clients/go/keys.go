package keyrail

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"
)

// Keys are the keys of a project, held in memory; made by Open. All methods are safe from any goroutine.
type Keys struct {
	settings *settings
	clock    clock
	time     *serviceTime
	reports  *reports
	served   served
	follower *follower
	poller   *poller
	disk     *disk
	limiter  *limiter
	usage    *usage

	// fromService: the service has answered, so the served keys are not those of the disk.
	fromService atomic.Bool
	version     atomic.Int64
	cancel      context.CancelFunc
	// running is closed when the poller has ended.
	running chan struct{}
	closing sync.Once
	closed  error
}

// Open loads the keys of a project and keeps them current until Close. It returns at once, with an error that
// names a missing or wrong option; Ready waits for the keys.
func Open(options Options) (*Keys, error) {
	settings, err := readOptions(options)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewSource(time.Now().UnixNano()))
	keys := open(settings, newAwakeClock(), (&lockedRandom{random: random}).next)
	ctx, cancel := context.WithCancel(context.Background())
	keys.cancel = cancel
	go func() {
		defer close(keys.running)
		keys.begin()
		keys.poller.run(ctx)
	}()
	keys.usage.start()
	return keys, nil
}

// open makes the parts, with the caller's own clock and randomness. Nothing runs yet.
func open(settings *settings, clock clock, random func() float64) *Keys {
	k := &Keys{
		settings: settings,
		clock:    clock,
		time:     newServiceTime(clock),
		reports:  newReports(settings.onError),
		cancel:   func() {},
		running:  make(chan struct{}),
	}
	k.served.ended = newEndedKeys()
	k.version.Store(-1)
	caller := newCaller(settings, clock.wall)
	k.follower = &follower{
		settings: settings, caller: caller, clock: clock, time: k.time, reports: k.reports, served: &k.served,
		version: -1, hold: newHold(), dates: newDates(),
	}
	k.poller = newPoller(k.follower, random, k.polled)
	k.limiter = newLimiter(settings, caller, clock, k.reports)
	k.usage = newUsage(settings, caller, clock, k.reports, random)
	if settings.cacheDir != "" {
		k.disk = newDisk(settings, clock, k.time, k.reports)
	}
	return k
}

// begin continues with what an earlier process left on the disk.
func (k *Keys) begin() {
	if k.disk == nil {
		return
	}
	resumed := k.disk.load()
	if resumed == nil {
		return
	}
	f := k.follower
	k.served.change(func() {
		k.served.store = resumed.store
		k.served.isPartial = !resumed.isWhole
	})
	// Of what may be incomplete, the next poll takes a snapshot; otherwise it asks for a delta.
	if resumed.isWhole {
		f.version = resumed.version
		k.version.Store(resumed.version)
	}
	f.workspaceID = resumed.workspaceID
	f.features = resumed.features
	f.isResumed = true
	if resumed.isFresh {
		k.time.resume(resumed.serviceNow)
		// Polls at once: until the first answer, keys that were revoked while no process ran are still
		// served.
		k.poller.settle(nil)
	}
}

// polled runs after every successful poll.
func (k *Keys) polled() {
	k.fromService.Store(true)
	k.version.Store(k.follower.version)
	if k.disk != nil {
		k.disk.keep(k.follower.kept())
	}
}

// Ready waits until keys are loaded. It returns an Error when retrying is useless: a wrong secret key, an
// unknown project, too many keys, or Close; and an error when the context ends. It waits while the service is
// not reachable.
func (k *Keys) Ready(ctx context.Context) error {
	select {
	case <-k.poller.ready:
	case <-k.running:
	case <-ctx.Done():
		_, last, _ := k.poller.state()
		if last != nil {
			return fmt.Errorf("keyrail: no keys were loaded: %w: %s", ctx.Err(), last.Message)
		}
		return fmt.Errorf("keyrail: no keys were loaded: %w: the service has not answered yet", ctx.Err())
	}
	if _, _, fatal := k.poller.state(); fatal != nil {
		return fatal
	}
	select {
	case <-k.running:
		return closedError()
	default:
		return nil
	}
}

// Close sends the counts of requests, stops polling, writes the copy on disk and drops all keys: every key is
// refused from then on. Counts get the time that the context allows, at most 10 s. It returns an Error if
// counts were not acknowledged. Without CacheDir and Node it also tells the service, so that no change waits for
// this node. It may be called twice.
func (k *Keys) Close(ctx context.Context) error {
	k.closing.Do(func() {
		if err := k.usage.close(ctx); err != nil {
			k.closed = err
		}
		k.cancel()
		<-k.running
		k.poller.settle(closedError())
		if k.disk != nil {
			k.disk.close(k.follower.kept())
		}
		k.served.change(func() { k.served.store = nil })
		if k.settings.tellsEnd && k.fromService.Load() {
			k.follower.leave(ctx)
		}
	})
	return k.closed
}

// Stats are the state and counters of Keys, for logs and metrics. They hold no secret.
type Stats struct {
	// Serving says whether keys can be verified now: loaded, and confirmed recently enough.
	Serving bool
	// Source is service or disk, and empty before there are any keys.
	Source string
	// Node is the name of this process for the service.
	Node string
	// Version is the served policy version; -1 before the first snapshot.
	Version int64
	// Keys are those held, of the MaxKeys that may be held.
	Keys, MaxKeys int
	// Complete says whether every key of the project and environment is held.
	Complete bool
	// ConfirmedAge is the time since the service last confirmed the keys; negative if it never has.
	ConfirmedAge time.Duration
	// Evictions are keys that were not held for lack of room.
	Evictions int
	Polls     Polls
	// LastError is the code of the last poll's error; empty if it succeeded.
	LastError string
	// Requests counted and not yet acknowledged, acknowledged, and dropped: too many or too old, with an
	// invalid id, or ignored.
	PendingRequests, ReportedRequests, DroppedRequests int64
}

// Stats returns the current state and counters, for a route such as /readyz.
func (k *Keys) Stats() Stats {
	outcomes, last, _ := k.poller.state()
	stats := Stats{
		Node: k.settings.node, Version: k.version.Load(), MaxKeys: k.settings.maxKeys, Polls: outcomes,
		ConfirmedAge: -1,
	}
	if last != nil {
		stats.LastError = last.Code
	}
	stats.PendingRequests, stats.ReportedRequests, stats.DroppedRequests = k.usage.stats()
	k.served.mu.RLock()
	defer k.served.mu.RUnlock()
	store := k.served.store
	stats.Evictions = k.served.evictions
	if store == nil {
		return stats
	}
	stats.Source = "disk"
	if k.fromService.Load() {
		stats.Source = "service"
	}
	stats.Keys = store.size
	stats.Evictions += store.evictions
	stats.Complete = store.evictions == 0 && !k.served.isPartial && len(k.settings.scope.tenants) == 0
	if !math.IsInf(store.confirmedAt, -1) {
		ageMs := k.clock.monotonic() - store.confirmedAt
		stats.ConfirmedAge = durationOf(ageMs)
		stats.Serving = ageMs < k.settings.cachedTTLMs
	}
	return stats
}

type lockedRandom struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (r *lockedRandom) next() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.Float64()
}
