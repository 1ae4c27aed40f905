package keyrail

import (
	"math"
	"sync"
)

const (
	// A clock that lies behind is followed once this many answers have agreed on it for this long. Answers of
	// a cache do not agree, because their time stands still.
	agreedMs    = 5_000
	agreedTimes = 3
	// Clocks behind that are observed at a time: several processes of the service may answer by turns.
	behindMax = 8
)

type clockBehind struct {
	offset, since float64
	times         int
}

// serviceTime is the service's clock as this process knows it: generated_at of answers, advanced by the
// monotonic clock. The service sets expiry by its clock, so expiry is judged by it too, and setting this
// machine's clock neither extends nor shortens the life of a key. Before the first answer it is the time that
// an earlier process knew, or else this machine's.
type serviceTime struct {
	clock clock

	mu           sync.RWMutex
	offset       float64 // NaN: unknown
	behind       []clockBehind
	newestBehind float64
}

func newServiceTime(clock clock) *serviceTime {
	return &serviceTime{clock: clock, offset: math.NaN(), newestBehind: math.Inf(-1)}
}

// at is the service's time at a reading of the monotonic clock; behind the service by at most the travel time
// of an answer.
func (s *serviceTime) at(monotonic float64) float64 {
	if known := s.known(monotonic); !math.IsNaN(known) {
		return known
	}
	return s.clock.wall()
}

// known is the same, and NaN before the first answer.
func (s *serviceTime) known(monotonic float64) float64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return monotonic + s.offset
}

// observe reads the time of an answer that has just arrived.
func (s *serviceTime) observe(generatedAt float64) {
	monotonic := s.clock.monotonic()
	s.mu.Lock()
	defer s.mu.Unlock()
	offset := generatedAt - monotonic
	if math.IsNaN(s.offset) || offset > s.offset {
		s.offset = offset
	}
	if offset < s.offset-slackMs {
		s.observeBehind(generatedAt, offset, monotonic)
	} else {
		s.agree()
	}
}

// observeBehind counts only answers that are newer than all others from behind, however many caches stand
// still at different times. Otherwise expired keys would work again.
func (s *serviceTime) observeBehind(generatedAt, offset, monotonic float64) {
	if generatedAt <= s.newestBehind {
		return
	}
	s.newestBehind = generatedAt
	for at := range s.behind {
		known := &s.behind[at]
		if math.Abs(offset-known.offset) > slackMs {
			continue
		}
		known.offset = math.Max(known.offset, offset)
		known.times++
		if known.times >= agreedTimes && monotonic-known.since >= agreedMs {
			s.offset = known.offset
			s.agree()
		}
		return
	}
	if len(s.behind) == behindMax {
		s.behind = append(s.behind[:0], s.behind[1:]...)
	}
	s.behind = append(s.behind, clockBehind{offset: offset, since: monotonic, times: 1})
}

func (s *serviceTime) agree() {
	s.behind = nil
	s.newestBehind = math.Inf(-1)
}

// answered reads the time of an answer, and returns when it was given on the monotonic clock: when it was
// generated, and no later than when it was asked for.
func (s *serviceTime) answered(generatedAt, sentAt float64) float64 {
	s.observe(generatedAt)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return math.Min(sentAt, generatedAt-s.offset)
}

// resume continues from the time that an earlier process knew.
func (s *serviceTime) resume(now float64) {
	monotonic := s.clock.monotonic()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset = now - monotonic
}
