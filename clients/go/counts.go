package keyrail

import (
	"sort"
	"time"
)

const (
	hourMs = 3_600_000
	// The service ignores hours that are older than this.
	countAgeMaxMs = 7 * 24 * hourMs
	recordsMax    = 1_000
	countMax      = 1_000_000_000
	// The most pairs of key and hour that wait to be sent.
	entriesMax = 100_000
)

// usageRecord is a part of a report, as the service takes it.
type usageRecord struct {
	KeyID string `json:"key_id"`
	Hour  string `json:"hour"`
	Count int64  `json:"count"`
}

type hourCounts struct {
	firstAt float64
	keys    map[string]int64
}

// counts are counted requests by hour and key that are not yet in a report. Bounded: new pairs of hour and
// key beyond the bound are dropped, while existing ones continue to count.
type counts struct {
	hours   map[int64]*hourCounts
	entries int
	dropped int64
}

func newCounts() *counts { return &counts{hours: map[int64]*hourCounts{}} }

func (c *counts) total() int64 {
	total := int64(0)
	for _, counted := range c.hours {
		for _, count := range counted.keys {
			total += count
		}
	}
	return total
}

// add drops an invalid key id here, because the service would reject the whole report.
func (c *counts) add(keyID string, count int64, now float64) {
	hour := int64(now) / hourMs
	counted := c.hours[hour]
	isKnown := false
	if counted != nil {
		_, isKnown = counted.keys[keyID]
	}
	if !isKnown {
		if c.entries >= entriesMax || !isUUID(keyID) {
			c.dropped += count
			return
		}
		c.entries++
	}
	if counted == nil {
		counted = &hourCounts{firstAt: now, keys: map[string]int64{}}
		c.hours[hour] = counted
	}
	counted.keys[keyID] += count
}

// moveBy corrects counts made by a clock that was this far behind.
func (c *counts) moveBy(ms float64) {
	counted := c.hours
	c.hours, c.entries = map[int64]*hourCounts{}, 0
	for _, each := range counted {
		for keyID, count := range each.keys {
			c.add(keyID, count, each.firstAt+ms)
		}
	}
}

// take takes the records of one report, oldest hours first; none if there are none.
func (c *counts) take(now float64) []usageRecord {
	hours := make([]int64, 0, len(c.hours))
	for hour := range c.hours {
		hours = append(hours, hour)
	}
	sort.Slice(hours, func(one, other int) bool { return hours[one] < hours[other] })
	var records []usageRecord
	for _, hour := range hours {
		keys := c.hours[hour].keys
		isTooOld := now-float64(hour+1)*hourMs > countAgeMaxMs
		name := time.UnixMilli(hour * hourMs).UTC().Format("2006-01-02T15:04:05.000Z")
		for keyID, count := range keys {
			if len(records) == recordsMax {
				return records
			}
			taken := count
			if taken > countMax {
				taken = countMax
			}
			if isTooOld {
				c.dropped += count
				taken = count
			} else {
				records = append(records, usageRecord{keyID, name, taken})
			}
			if keys[keyID] -= taken; keys[keyID] == 0 {
				delete(keys, keyID)
				c.entries--
			}
		}
		if len(keys) == 0 {
			delete(c.hours, hour)
		}
	}
	return records
}
