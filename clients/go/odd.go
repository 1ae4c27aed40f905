package keyrail

import (
	"fmt"
	"math"
	"regexp"
)

// Errors about answers that were applied nevertheless. They show ids, and nothing else from the service.

var shownID = regexp.MustCompile(`^[\w-]{1,64}$`)

func shown(id string) string {
	if shownID.MatchString(id) {
		return id
	}
	return "one without an id"
}

func unreadableKeys(keys []unreadable) *Error {
	which := shown(keys[0].keyID)
	problem := fmt.Sprintf("The API key %s cannot be read and is refused: %s", which, keys[0].why)
	if len(keys) > 1 {
		problem = fmt.Sprintf("%d API keys cannot be read and are refused, such as %s: %s",
			len(keys), which, keys[0].why)
	}
	return lasting("unreadable_key", problem+". A newer version of this package may be able to read it")
}

// cachedAnswer is about an answer from a cache, which confirms keys only as of when the service gave it.
func cachedAnswer(lateMs float64, hint string) *Error {
	return passing("cached_answer", fmt.Sprintf(
		"The answer is old, as from a cache: the service generated it %.0f s before it was asked for%s. "+
			"Do not cache answers between this node and the service", lateMs/1000, hint))
}

func dateBack(byMs float64) *Error {
	return passing("date_back", fmt.Sprintf(
		"The time of the service's answers went back by %.0f s: a cache returned an old answer, or a clock was set back",
		byMs/1000))
}

// slowSnapshot is about a long walk; goesOn is false if the node gave it up.
func slowSnapshot(pages int, tookMs float64, goesOn bool) *Error {
	then := ", which is too long, and was given up: the keys would be stale before they are served"
	if goesOn {
		then = " and goes on; meanwhile the keys held go stale"
	}
	return passing("slow_snapshot",
		fmt.Sprintf("A snapshot has taken %.0f s and %d pages so far%s", tookMs/1000, pages, then))
}

func versionBack(from, to int64) *Error {
	return passing("version_back", fmt.Sprintf("The policy version went back from %d to %d: "+
		"the service's database was restored or failed over, or a cache returned an old answer", from, to))
}

const (
	// Answers of several processes may arrive out of order.
	slackMs = 2_000
	// An answer older than this confirms too little.
	lateMs = 5_000
	// What was reported is reported again only after an answer in order, this long after the last odd one.
	quietMs = 60_000
)

// answerTimes are the times of an answer. Its headers prove nothing; they are hints for an error.
type answerTimes struct {
	generatedAt, sentAt, date, ageSeconds float64
}

// dates compares the times of successive answers, to report caches and clocks that were set back.
type dates struct {
	last, oddAt float64
	isTold      bool
}

func newDates() *dates { return &dates{last: math.Inf(-1), oddAt: math.Inf(-1)} }

// odd returns an error to report, or nil. answeredAt is when the answer was given.
func (d *dates) odd(times answerTimes, answeredAt float64) *Error {
	backMs := d.last - times.generatedAt
	d.last = times.generatedAt
	late := times.sentAt - answeredAt
	if backMs <= slackMs && late <= lateMs {
		if times.sentAt-d.oddAt >= quietMs {
			d.isTold = false
		}
		return nil
	}
	d.oddAt = times.sentAt
	if d.isTold {
		return nil
	}
	d.isTold = true
	if backMs > slackMs {
		return dateBack(backMs)
	}
	return cachedAnswer(late, hintOf(times))
}

// hintOf names what points to a proxy or cache between node and service. A date that is absent is NaN.
func hintOf(times answerTimes) string {
	if times.ageSeconds > 0 {
		return fmt.Sprintf(", and its Age is %.0f s", times.ageSeconds)
	}
	if times.date-times.generatedAt > lateMs {
		return ", although something gave it a newer Date"
	}
	return ""
}
