package keyrail

import (
	"container/list"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

const (
	// The longest time for which a denial is reused.
	rememberedMs = 1_000
	denialsMax   = 10_000
)

type denial struct {
	deniedBy     []string
	retryAfterMs float64 // infinite: never
	// policy and state are RateLimit-Policy and RateLimit; states are the numbers of state, as they were.
	policy, state string
	states        []LimitState
	// cost is that of the denied request: a cheaper one may fit.
	cost           int
	askedAt, until float64
}

// denials are counters that have denied. Until units of a counter can be left again the service would deny
// again, so it is not called: a flood from one customer costs few calls, and no request is denied that would
// have passed. Beyond 10,000 the least recently used one is dropped.
type denials struct {
	mu     sync.Mutex
	byName map[string]*list.Element
	recent *list.List
}

type namedDenial struct {
	name   string
	denial denial
}

func newDenials() *denials { return &denials{byName: map[string]*list.Element{}, recent: list.New()} }

// find returns what the service would answer now about these limits of the key.
func (d *denials) find(key *Verdict, cost int, now float64) (LimitVerdict, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.byName) == 0 {
		return LimitVerdict{}, false
	}
	for _, name := range append(counterNames(key), wholeName(key)) {
		element, isKnown := d.byName[name]
		if !isKnown {
			continue
		}
		d.recent.MoveToBack(element)
		found := element.Value.(*namedDenial).denial
		if cost < found.cost {
			continue
		}
		if now >= found.until {
			d.recent.Remove(element)
			delete(d.byName, name)
			continue
		}
		return found.aged(now - found.askedAt), true
	}
	return LimitVerdict{}, false
}

// add notes a denial. askedAt is when the request was sent, which is not later than the service's answer.
func (d *denials) add(key *Verdict, cost int, askedAt float64, answer *checkAnswer) {
	if math.IsNaN(answer.retryAfterMs) {
		return
	}
	denied := denial{
		deniedBy: answer.deniedBy, retryAfterMs: answer.retryAfterMs,
		policy: answer.headers["ratelimit-policy"], state: answer.headers["ratelimit"], states: answer.states,
		cost: cost, askedAt: askedAt, until: askedAt + math.Min(answer.retryAfterMs, rememberedMs),
	}
	rules := key.limits.rules
	at := -1
	if len(denied.deniedBy) > 0 {
		at = placeOf(rules, denied.deniedBy[0])
	}
	if len(denied.deniedBy) > 1 || at < 0 {
		// With several limits it is unknown which has units left first, so only the same key and cost is
		// denied again.
		d.set(wholeName(key), denied)
		return
	}
	policy, hasPolicy := memberAt(denied.policy, at, len(rules))
	state, hasState := memberAt(denied.state, at, len(rules))
	if !hasPolicy || !hasState {
		return
	}
	// Another key of the tenant gets only the state of this counter.
	denied.policy, denied.state = policy, state
	if denied.states != nil {
		denied.states = denied.states[at : at+1]
	}
	d.set(counterName(key, &rules[at]), denied)
}

func (d *denials) set(name string, denied denial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, isKnown := d.byName[name]; isKnown {
		d.recent.Remove(known)
	}
	d.byName[name] = d.recent.PushBack(&namedDenial{name, denied})
	if d.recent.Len() > denialsMax {
		oldest := d.recent.Front()
		d.recent.Remove(oldest)
		delete(d.byName, oldest.Value.(*namedDenial).name)
	}
}

func placeOf(rules []rule, id string) int {
	for at := range rules {
		if rules[at].ID == id {
			return at
		}
	}
	return -1
}

var resetTime = regexp.MustCompile(`;t=(\d+)`)

// aged is the denial after this time.
func (d *denial) aged(ageMs float64) LimitVerdict {
	left := func(ms float64) float64 { return math.Max(0, math.Ceil(ms-ageMs)) }
	state := resetTime.ReplaceAllStringFunc(d.state, func(member string) string {
		seconds, _ := strconv.ParseFloat(member[len(";t="):], 64)
		return ";t=" + strconv.FormatInt(secondsUp(left(seconds*1_000)), 10)
	})
	headers := map[string]string{"ratelimit-policy": d.policy, "ratelimit": state}
	if !math.IsInf(d.retryAfterMs, 1) {
		headers["retry-after"] = retryAfterHeader(d.retryAfterMs - ageMs)
	}
	states := make([]LimitState, len(d.states))
	for at, each := range d.states {
		states[at] = LimitState{each.ID, each.Remaining, int64(left(float64(each.ResetMs)))}
	}
	return denied(d.deniedBy, headers, states)
}

// counterName contains the whole rule, so that a changed rule is a new counter and the service is asked
// again.
func counterName(key *Verdict, rule *rule) string {
	whose := "key " + key.KeyID
	if rule.Scope == "tenant" {
		whose = "tenant " + key.TenantID
	}
	return key.Env + " " + whose + " " + rule.text
}

func counterNames(key *Verdict) []string {
	names := make([]string, len(key.limits.rules))
	for at := range names {
		names[at] = counterName(key, &key.limits.rules[at])
	}
	return names
}

func wholeName(key *Verdict) string {
	return "whole " + strings.Join(counterNames(key), " ") + " " + key.KeyID
}

// memberAt is one member of a structured list that has one for each rule; false if an id contains a comma.
func memberAt(list string, at, rules int) (string, bool) {
	members := strings.Split(list, ", ")
	if len(members) != rules {
		return "", false
	}
	return members[at], true
}
