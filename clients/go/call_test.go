package keyrail

import (
	"context"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func getOf(c *caller) (*answer, *Error) {
	return c.call(context.Background(), request{
		method: http.MethodGet, path: "/x", accepts: []int{200}, timeoutMs: 20_000, maxBytes: 1_000,
	})
}

func callerTo(url string) *caller {
	settings := &settings{base: url, origin: url, secretKey: testSecretKey()}
	return newCaller(settings, func() float64 { return testWall })
}

func TestACallSpeaksHTTP1AlsoToAServiceThatKnowsMore(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`"` + r.Proto + `"`))
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	c := callerTo(server.URL)
	if _, err := getOf(c); err == nil || !strings.Contains(err.Message, "its certificate is not trusted") {
		t.Errorf("got %v", err)
	}
	authorities := x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	transport := newTransport()
	transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	transport.TLSClientConfig.RootCAs, transport.TLSClientConfig.NextProtos = authorities, nil
	c.client.Transport = transport
	if answer, err := getOf(c); err != nil || string(answer.text) != `"HTTP/1.1"` {
		t.Errorf("got %v %v", answer, err)
	}
}

func TestAnAddressWithTheWrongSchemeSaysSo(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, err := getOf(callerTo(strings.Replace(plain.URL, "http:", "https:", 1)))
	if err == nil || !strings.Contains(err.Message, "if it serves http, URL must say so") {
		t.Errorf("got %v", err)
	}
}

func TestAnErrorNeverHasTheSecretKey(t *testing.T) {
	secret := testSecretKey()
	for name, answer := range map[string]http.HandlerFunc{
		"problem": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", secret)
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"code":"malformed_request","detail":"` + strings.Repeat("x", 280) + secret + `"}`))
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example.com/"+secret, http.StatusFound)
		},
		"page": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(" <html>" + secret)) },
	} {
		server := httptest.NewServer(answer)
		_, err := getOf(callerTo(server.URL))
		server.Close()
		if err == nil || strings.Contains(err.Message+err.RequestID, secret[:10]) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestABugEndsNeitherProcessNorPolling(t *testing.T) {
	service := startService(t)
	service.answerJSON(snapshotPath, 200, snapshotOf(7, feedKey(1, nil)))
	k, _, said := openNode(t, service, nil)
	if _, err := k.follower.poll(context.Background()); err != nil {
		t.Fatal(err)
	}
	service.answerJSON(deltaPath, 200, deltaOf(7, 7))
	dates := k.follower.dates
	k.follower.dates = nil
	if _, goesOn := k.poller.pollOnce(context.Background()); !goesOn || strings.Join(*said, " ") != "internal_error" {
		t.Errorf("got %v", *said)
	}
	k.follower.dates = dates
	if result, err := k.follower.poll(context.Background()); err != nil || result.outcome != gotSnapshot {
		t.Errorf("got %v %v", result, err)
	}
}
