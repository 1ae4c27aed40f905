package keyrail

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

const (
	// A page of 5,000 keys with eight limits each has about 6 MiB; sixty-four scopes of 200 characters make
	// it 64 MiB.
	feedMaxBytes = 96 * 1024 * 1024
	// The largest page that the service sends.
	pageKeys = 5_000
	// Least time between the starts of two pages, to limit the load from a faulty service.
	pageFloorMs = 20
	// A process that stops waits no longer than this for a service that hangs.
	leaveTimeoutMs = 1_000
)

// feedRequest asks for a snapshot, from a cursor on, or for the changes since a version.
type feedRequest struct {
	path, cursor string
	since        int64
	// wait is for how many seconds the service may hold an unchanged answer. 0: answer at once.
	wait int
	// leaving: this node has stopped, and refuses every key.
	leaving   bool
	timeoutMs float64
}

const (
	snapshotPath = "/v1/policy/snapshot"
	deltaPath    = "/v1/policy/delta"
)

type feedAnswer struct {
	body *feedBody
	// waits: the service holds unchanged answers as requested (RFC 7240, Preference-Applied).
	waits bool
	times answerTimes
}

var appliedWait = regexp.MustCompile(`(?i)(?:^|[\s,;])wait\b`)

// ask makes one exchange with the feed. No request is conditional, because a cache could answer it without
// the service. For the same reason each request has a parameter that never repeats, which the service
// ignores.
func (f *follower) ask(ctx context.Context, asked feedRequest) (*feedAnswer, *Error) {
	headers := map[string]string{"Cache-Control": "no-store"}
	if asked.wait > 0 {
		headers["Prefer"] = "wait=" + strconv.Itoa(asked.wait)
	}
	sentAt := f.clock.monotonic()
	answered, err := f.caller.call(ctx, request{
		method:    http.MethodGet,
		path:      asked.path,
		query:     f.query(asked),
		headers:   headers,
		accepts:   []int{200},
		timeoutMs: asked.timeoutMs,
		maxBytes:  feedMaxBytes,
	})
	if err != nil {
		if err.Code == "aborted" {
			err = closedError()
		}
		return nil, err
	}
	body, err := readFeedBody(answered.text, &f.settings.scope)
	if err != nil {
		return nil, err
	}
	date, hasDate := dateOf(answered.header)
	if !hasDate {
		date = math.NaN()
	}
	applied := strings.Join(answered.header.Values("Preference-Applied"), ",")
	return &feedAnswer{
		body:  body,
		waits: asked.wait > 0 && appliedWait.MatchString(applied),
		times: answerTimes{
			generatedAt: body.generatedAt, sentAt: sentAt, date: date, ageSeconds: ageOf(answered.header),
		},
	}, nil
}

// leave tells the service that this node has stopped and refuses every key, so that no revocation waits for it.
// If that fails, the node counts as live for 90 s, as one that was killed.
func (f *follower) leave(ctx context.Context) {
	asked := feedRequest{path: deltaPath, leaving: true, timeoutMs: leaveTimeoutMs}
	if f.version > 0 {
		asked.since = f.version
	}
	_, _ = f.ask(ctx, asked)
}

// ageOf reads the greatest Age: two caches in a row may each add one.
func ageOf(header http.Header) float64 {
	age := 0.0
	for _, value := range header.Values("Age") {
		for _, text := range strings.Split(value, ",") {
			if seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
				age = math.Max(age, seconds)
			}
		}
	}
	return age
}

// query has the parameters of both feed routes. The service learns how full the node is.
func (f *follower) query(asked feedRequest) url.Values {
	scope := &f.settings.scope
	named := strings.Join(features, ",")
	query := url.Values{
		"project_id":    {scope.project},
		"node":          {f.settings.node},
		"max_keys":      {strconv.Itoa(pageKeys)},
		"held_keys":     {strconv.Itoa(f.held())},
		"held_keys_max": {strconv.Itoa(f.settings.maxKeys)},
		"nonce":         {newUUID()},
	}
	if scope.env != "both" {
		query.Set("env", scope.env)
	}
	if len(scope.tenants) > 0 {
		query.Set("tenant_id", strings.Join(scope.tenants, ","))
	}
	if asked.path == deltaPath {
		// With it, a held answer says for how long it was held.
		named += ",held_ms"
		query.Set("since", strconv.FormatInt(asked.since, 10))
		if asked.leaving {
			query.Set("leaving", "true")
		}
	} else if asked.cursor != "" {
		query.Set("cursor", asked.cursor)
	}
	query.Set("features", named)
	return query
}
