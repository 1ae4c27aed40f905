package keyrail

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
)

// A ProtectOption is an option of Protect.
type ProtectOption func(*gate)

// Scopes are scopes that the key must all have. Without a name it is a mistake: it would open a route that
// was meant to be closed.
func Scopes(names ...string) ProtectOption {
	if len(names) == 0 || contains(names, "") {
		panic("keyrail: Scopes must name at least one scope, and none of them empty")
	}
	return func(g *gate) { g.scopes = append(g.scopes, names...) }
}

// Cost is how much a request takes from every limit of its key, 0 to 1,000. Default: 1. 0 checks without
// taking.
func Cost(cost int) ProtectOption {
	if cost < 0 || cost > CostMax {
		panic(fmt.Sprintf("keyrail: Cost must be from 0 to %d", CostMax))
	}
	return func(g *gate) { g.cost = cost }
}

var headerName = regexp.MustCompile(`^[\w-]+$`)

// Header names the header with the key, or several: the first with a key counts. Authorization, the default,
// holds Bearer <key>, any other the bare key.
func Header(names ...string) ProtectOption {
	lower := make([]string, len(names))
	for at, name := range names {
		if !headerName.MatchString(name) {
			panic("keyrail: Header must name a header")
		}
		lower[at] = strings.ToLower(name)
	}
	if len(lower) == 0 {
		panic("keyrail: Header must name a header")
	}
	return func(g *gate) { g.headers = lower }
}

// ClientIP says how the address of the caller is found where this program is behind a proxy: from a header that
// your proxy sets, and that no caller can set. Default: the peer of the connection. An empty text: unknown.
// It is called only for requests with a key.
func ClientIP(of func(r *http.Request) string) ProtectOption {
	if of == nil {
		panic("keyrail: ClientIP needs a function")
	}
	return func(g *gate) { g.ip = of }
}

// peerOf is the address of RemoteAddr; empty if it has none, as for a Unix socket.
func peerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// WithoutLimits charges no limits.
func WithoutLimits() ProtectOption { return func(g *gate) { g.ignoresLimits = true } }

// WithoutUsage counts no requests.
func WithoutUsage() ProtectOption { return func(g *gate) { g.ignoresUsage = true } }

// Protect lets only requests with a valid key reach the handler: it checks key, scopes and limits, and counts
// the request. Others are answered with application/problem+json. A request that meets several is charged
// once, with the highest of their costs, and counted once. The handler finds the key with KeyOf. It panics if
// an option is wrong, so that a mistake leaves no route open.
func (k *Keys) Protect(next http.Handler, options ...ProtectOption) http.Handler {
	if next == nil {
		panic("keyrail: Protect needs a handler")
	}
	g := &gate{keys: k, headers: []string{"authorization"}, cost: 1, ip: peerOf}
	for _, set := range options {
		set(g)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchange, ctx := exchangeOf(r.Context())
		key, headers, refused := g.admit(ctx, exchange, r)
		if refused != nil {
			refused.serve(w)
			return
		}
		for name, values := range headers {
			w.Header()[name] = values
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, keyName{}, key)))
	})
}

// KeyOf returns the verdict on the key of a request that Protect let pass. Without Protect it is no verdict:
// its Code is empty.
func KeyOf(ctx context.Context) Verdict {
	key, _ := ctx.Value(keyName{}).(Verdict)
	return key
}

type keyName struct{}

// gate stands before a handler.
type gate struct {
	keys          *Keys
	scopes        []string
	headers       []string
	cost          int
	ip            func(r *http.Request) string
	ignoresLimits bool
	ignoresUsage  bool
}

// admit returns the key with headers for the answer, or the answer to send.
func (g *gate) admit(ctx context.Context, exchange *exchange, r *http.Request) (Verdict, http.Header, *problem) {
	presented, fault := credentialOf(r.Header, g.headers)
	key := Verdict{Code: MalformedKey}
	if fault == "" {
		needs := Requirements{Scopes: g.scopes}
		// A probe without a key need not have what finds an address, such as the header of a proxy.
		if presented != "" {
			needs.IP = g.ip(r)
		}
		key = g.keys.Verify(presented, needs)
	}
	if !key.IsValid() {
		return key, nil, refusal(key.Code, g.scopes, g.headers, fault)
	}
	var answer http.Header
	if !g.ignoresLimits {
		verdict := exchange.charge(ctx, g.keys, &key, g.cost)
		if !verdict.Allowed {
			return key, nil, limitProblem(&verdict)
		}
		answer = verdict.Headers
	}
	if !g.ignoresUsage && exchange.takeCount(g.keys) {
		g.keys.usage.count(key.KeyID, 1)
	}
	return key, answer, nil
}

// exchange is what the protections of one request know of each other. They run one after the other.
type exchange struct {
	charges []charge
	counted []*Keys
}

// charge is what was charged for a key.
type charge struct {
	keys    *Keys
	key     Verdict
	cost    int
	verdict LimitVerdict
}

type exchangeName struct{}

func exchangeOf(ctx context.Context) (*exchange, context.Context) {
	if known, ok := ctx.Value(exchangeName{}).(*exchange); ok {
		return known, ctx
	}
	made := &exchange{}
	return made, context.WithValue(ctx, exchangeName{}, made)
}

// charge charges a request once: of several costs the highest, since nothing can give units back. A key with
// other rules, or of another customer, is charged for itself.
func (e *exchange) charge(ctx context.Context, keys *Keys, key *Verdict, cost int) LimitVerdict {
	var before *charge
	for at := range e.charges {
		if each := &e.charges[at]; each.keys == keys && countsAs(&each.key, key) {
			before = each
		}
	}
	if before != nil && before.cost >= cost {
		return before.verdict
	}
	paid := 0
	if before != nil {
		paid = before.cost
	}
	verdict := keys.limiter.limit(ctx, key, cost-paid)
	switch {
	case !verdict.Allowed:
	case before != nil:
		before.cost, before.verdict = cost, verdict
	default:
		e.charges = append(e.charges, charge{keys, *key, cost, verdict})
	}
	return verdict
}

// countsAs says whether both verdicts name the same counters. Each protection verifies anew, and the rules
// may have changed.
func countsAs(one, other *Verdict) bool {
	if one.KeyID != other.KeyID || one.TenantID != other.TenantID || one.Env != other.Env {
		return false
	}
	if one.limits == nil || other.limits == nil {
		return one.limits == other.limits
	}
	return one.limits.text == other.limits.text
}

// takeCount is true only the first time.
func (e *exchange) takeCount(keys *Keys) bool {
	for _, each := range e.counted {
		if each == keys {
			return false
		}
	}
	e.counted = append(e.counted, keys)
	return true
}
