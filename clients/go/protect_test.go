package keyrail

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const checkPath = "/v1/ratelimit/check"

func checkOf(allowed bool, remaining int) map[string]any {
	return map[string]any{
		"object": "ratelimit_check", "allowed": allowed, "denied_by": []string{"m"}, "retry_after_ms": 1_500,
		"headers": map[string]any{"RateLimit-Policy": `"m";q=5;w=60`, "RateLimit": `"m";r=0;t=2`},
		"limits":  []any{map[string]any{"id": "m", "remaining": remaining, "reset_ms": 1_500}},
	}
}

// limitedNode serves key 1 without limits, and key 2 with one.
func limitedNode(t *testing.T, change func(*Options)) (*Keys, *virtualClock, *[]string, *fakeService) {
	service := startService(t)
	k, clock, said := openNode(t, service, change)
	limit := map[string]any{"id": "m", "limit": 5, "window_ms": 60_000, "algorithm": "fixed", "scope": "key"}
	service.answerJSON(snapshotPath, 200,
		snapshotOf(7, feedKey(1, nil), feedKey(2, map[string]any{"rate_limits": []any{limit}})))
	if _, err := k.follower.poll(context.Background()); err != nil {
		t.Fatal(err)
	}
	return k, clock, said, service
}

func asked(handler http.Handler, headers ...string) *httptest.ResponseRecorder {
	return askedFrom("192.0.2.1:1234", handler, headers...)
}

func askedFrom(peer string, handler http.Handler, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.RemoteAddr = peer
	for at := 0; at < len(headers); at += 2 {
		request.Header.Add(headers[at], headers[at+1])
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

var whoami = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = w.Write([]byte(KeyOf(r.Context()).ExternalID))
})

func TestProtectRefusesWithAProblem(t *testing.T) {
	k, _, _, _ := limitedNode(t, nil)
	route := k.Protect(whoami, Scopes("orders:read"))
	for _, each := range []struct {
		headers           []string
		status            int
		code              Code
		challenge, detail string
	}{
		{nil, 401, MissingKey, "Bearer", `No API key was presented: send it as "Authorization: Bearer <key>"`},
		{[]string{"Authorization", "Basic x"}, 401, MalformedKey, `Bearer error="invalid_token"`,
			`The API key was not sent as Bearer: send it as "Authorization: Bearer <key>"`},
		{[]string{"Authorization", "Bearer " + liveKey(9)}, 401, UnknownKey, `Bearer error="invalid_token"`,
			"The API key is unknown or revoked"},
		{[]string{"Authorization", "Bearer " + liveKey(1), "Authorization", "Bearer " + liveKey(1)}, 401, MalformedKey,
			`Bearer error="invalid_token"`, "More than one API key was presented: send one"},
	} {
		answer := asked(route, each.headers...)
		var body problemBody
		if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if answer.Code != each.status || body.Code != string(each.code) || body.Detail != each.detail {
			t.Errorf("got %d %+v, want %+v", answer.Code, body, each)
		}
		if got := answer.Header().Get("WWW-Authenticate"); got != each.challenge {
			t.Errorf("got %s, want %s", got, each.challenge)
		}
		if answer.Header().Get("Content-Type") != "application/problem+json" ||
			answer.Header().Get("Cache-Control") != "no-store" {
			t.Error(answer.Header())
		}
	}
	scoped := asked(k.Protect(whoami, Scopes("orders:write")), "Authorization", "bearer  "+liveKey(1))
	want := `Bearer error="insufficient_scope", scope="orders:write"`
	if scoped.Code != 403 || scoped.Header().Get("WWW-Authenticate") != want {
		t.Error(scoped.Code, scoped.Header())
	}
	if passed := asked(route, "Authorization", "Bearer "+liveKey(1)); passed.Code != 200 || passed.Body.String() != "acme" {
		t.Error(passed.Code, passed.Body)
	}
	if passed := asked(k.Protect(whoami, Header("X-Api-Key")), "x-api-key", " "+liveKey(1)); passed.Code != 200 {
		t.Error(passed.Code, passed.Body)
	}
	if pending := k.Stats().PendingRequests; pending != 2 {
		t.Errorf("%d requests were counted", pending)
	}
}

func TestARequestIsChargedOnceWithTheHighestCost(t *testing.T) {
	k, _, _, service := limitedNode(t, nil)
	var costs []string
	service.answer(checkPath, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Cost json.Number }
		_ = json.NewDecoder(r.Body).Decode(&body)
		costs = append(costs, body.Cost.String())
		_, _ = w.Write(textOf(checkOf(true, 3)))
	})
	inner := k.Protect(whoami, Cost(5))
	answer := asked(k.Protect(k.Protect(inner)), "Authorization", "Bearer "+liveKey(2))
	if answer.Code != 200 || answer.Header().Get("RateLimit") != `"m";r=0;t=2` {
		t.Error(answer.Code, answer.Header())
	}
	if got := strings.Join(costs, " "); got != "1 4" {
		t.Errorf("it was charged %s", got)
	}
	if pending := k.Stats().PendingRequests; pending != 1 {
		t.Errorf("%d requests were counted", pending)
	}
	if asked(k.Protect(whoami, WithoutLimits()), "Authorization", "Bearer "+liveKey(2)); len(costs) != 2 {
		t.Error("a route without limits asked")
	}
}

func TestADenialIsRemembered(t *testing.T) {
	k, clock, _, service := limitedNode(t, nil)
	service.answerJSON(checkPath, 200, checkOf(false, 0))
	route := k.Protect(whoami)
	for request, wantRetry := range []string{"2", "2", "1"} {
		answer := asked(route, "Authorization", "Bearer "+liveKey(2))
		if answer.Code != 429 || answer.Header().Get("Retry-After") != wantRetry {
			t.Errorf("request %d: %d %v", request, answer.Code, answer.Header())
		}
		if !strings.Contains(answer.Body.String(), `used up its limit \"m\"`) {
			t.Error(answer.Body)
		}
		clock.advance(499, 499)
	}
	if calls := service.calls(checkPath); calls != 1 {
		t.Errorf("the service was asked %d times", calls)
	}
	clock.advance(100, 100)
	asked(route, "Authorization", "Bearer "+liveKey(2))
	if calls := service.calls(checkPath); calls != 2 {
		t.Errorf("the service was asked %d times", calls)
	}
}

func TestLimitsThatCannotBeCheckedRefuse(t *testing.T) {
	for _, each := range []struct {
		answer  map[string]any
		status  int
		allow   bool
		want    Code
		reports string
	}{
		{map[string]any{"code": "unavailable"}, 503, false, LimitsUnavailable, "unavailable"},
		{map[string]any{"code": "unavailable"}, 503, true, Unchecked, "unavailable"},
		{map[string]any{"code": "counter_limit_reached"}, 409, true, Unchecked, "counter_limit_reached"},
		{map[string]any{"code": "unauthenticated"}, 401, true, LimitsUnavailable, "unauthenticated"},
		{map[string]any{"code": "insufficient_permission"}, 403, false, Unchecked, "insufficient_permission"},
		{map[string]any{"object": "other"}, 200, false, LimitsUnavailable, "bad_response"},
	} {
		k, _, said, service := limitedNode(t, func(o *Options) { o.AllowUnchecked = each.allow })
		service.answerJSON(checkPath, each.status, each.answer)
		verdict := k.Limit(context.Background(), k.Verify(liveKey(2), Requirements{}), 1)
		if verdict.Code != each.want || verdict.Allowed != (each.want == Unchecked) {
			t.Errorf("%v: got %+v", each.answer, verdict)
		}
		if got := strings.Join(*said, " "); got != each.reports {
			t.Errorf("%v: reported %s", each.answer, got)
		}
		if free := k.Limit(context.Background(), k.Verify(liveKey(1), Requirements{}), 1); free.Code != NoLimits {
			t.Errorf("got %+v", free)
		}
		if wrong := k.Limit(context.Background(), k.Verify(liveKey(9), Requirements{}), 1); wrong.Status() != 500 {
			t.Errorf("got %+v", wrong)
		}
	}
}

func TestAWrongOptionPanics(t *testing.T) {
	for name, make := range map[string]func(){
		"scopes": func() { Scopes() }, "cost": func() { Cost(1_001) }, "header": func() { Header("a b") },
		"ip": func() { ClientIP(nil) }, "handler": func() { (&Keys{}).Protect(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s leaves a route open", name)
				}
			}()
			make()
		}()
	}
}
