package keyrail

import (
	"math"
	"time"
)

// lifetimeFeature: with it, keys say when they are too old for their project. Without it, they expire then.
const lifetimeFeature = "lifetime"

// endOf is the end of a key in its record: milliseconds since the epoch, or infinite. Half a millisecond less
// than a time says that the key does not expire then, but is too old for its project. Times of the service are
// whole milliseconds.
func endOf(expiresAt, tooOldAt float64) float64 {
	if tooOldAt < expiresAt {
		return math.Floor(tooOldAt) - 0.5
	}
	return math.Floor(expiresAt)
}

// codeAfter is the verdict on a key after its end.
func codeAfter(end float64) Code {
	if end != math.Trunc(end) {
		return TooOld
	}
	return ExpiredKey
}

// shownEnd is the zero time if there is none.
func shownEnd(end float64) time.Time {
	if math.IsInf(end, 1) {
		return time.Time{}
	}
	return time.UnixMilli(int64(math.Ceil(end)))
}
