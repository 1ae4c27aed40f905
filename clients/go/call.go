package keyrail

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

const problemMaxBytes = 64 * 1024

// request is a request to the service.
type request struct {
	method  string
	path    string
	query   url.Values
	headers map[string]string
	// body is sent as JSON; nil: none.
	body []byte
	// accepts are the expected statuses; every other one is an error.
	accepts []int
	// timeoutMs is for the whole exchange, including the body.
	timeoutMs float64
	// maxBytes is the most that the decompressed body of an answer may have.
	maxBytes int64
}

type answer struct {
	status int
	header http.Header
	text   []byte
}

// caller makes exchanges with the service, with a timeout, a bounded body and one kind of error. It follows
// no redirect, which would carry the secret key elsewhere, and repeats nothing.
type caller struct {
	client *http.Client
	// base is the address without a slash at its end, and origin its scheme, host and port.
	base, origin string
	secretKey    string
	now          func() float64 // the wall clock
	// mostMs bounds every timeout; 0: not at all.
	mostMs float64
}

func newCaller(settings *settings, now func() float64) *caller {
	client := http.Client{Transport: newTransport()}
	if settings.client != nil {
		client = *settings.client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Jar = nil
	return &caller{
		client:    &client,
		base:      settings.base,
		origin:    settings.origin,
		secretKey: settings.secretKey,
		now:       now,
	}
}

// newTransport speaks HTTP/1.1: a held poll has its connection to itself, so none waits on a dead one of
// others. A connection is kept for less than a service (72 s) and common proxies (60 s) keep it: a call on
// one that is just being closed fails.
func newTransport() *http.Transport {
	dialer := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxConnsPerHost:        256,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 * 1024,
	}
}

var userAgent = "keyrail-go/" + Version + " " + strings.ReplaceAll(runtime.Version(), " ", "-")

// noRepeat is an empty body that the transport cannot read again, so it does not send the request again by
// itself.
type noRepeat struct{}

func (noRepeat) Read([]byte) (int, error) { return 0, io.EOF }
func (noRepeat) Close() error             { return nil }

func (c *caller) call(ctx context.Context, asked request) (*answer, *Error) {
	what := asked.method + " " + asked.path
	if ctx.Err() != nil {
		return nil, abortedError(what)
	}
	timeoutMs := asked.timeoutMs
	if c.mostMs > 0 && c.mostMs < timeoutMs {
		timeoutMs = c.mostMs
	}
	limited, cancel := context.WithTimeout(ctx, durationOf(timeoutMs))
	defer cancel()
	answer, refused, err := c.exchange(limited, asked)
	switch {
	case refused != nil:
		return nil, refused
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, abortedError(what)
	case limited.Err() != nil || isTimeoutOf(c.client, err):
		return nil, passing("timeout", what+" was not answered in time by "+c.origin)
	}
	return nil, networkError(what, c.origin, err)
}

// exchange returns an error of the service, or one of the network.
func (c *caller) exchange(ctx context.Context, asked request) (*answer, *Error, error) {
	what := asked.method + " " + asked.path
	response, err := c.send(ctx, asked)
	if err != nil {
		return nil, nil, err
	}
	// A body that is not read to its end closes the connection.
	defer response.Body.Close()
	status := response.StatusCode
	if !accepts(asked.accepts, status) {
		if isRedirect(status) {
			return nil, redirectedError(what, response.Header.Get("Location"), c.origin), nil
		}
		text, isWhole, err := readBounded(response.Body, problemMaxBytes)
		if err != nil && ctx.Err() != nil {
			return nil, nil, err
		}
		if err != nil || !isWhole {
			text = nil
		}
		return nil, c.problemError(what, response, text), nil
	}
	text, isWhole, err := readBounded(response.Body, asked.maxBytes)
	if err != nil {
		return nil, nil, err
	}
	if !isWhole {
		return nil, tooLarge(asked.maxBytes), nil
	}
	// JSON never begins with this.
	if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff"))), []byte("<")) {
		return nil, pageError(what, c.origin), nil
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	return &answer{status: status, header: response.Header, text: text}, nil, nil
}

func (c *caller) send(ctx context.Context, asked request) (*http.Response, error) {
	address := c.base + asked.path
	if len(asked.query) > 0 {
		address += "?" + asked.query.Encode()
	}
	var body io.Reader = noRepeat{}
	if asked.body != nil {
		// Not a reader that net/http knows how to read again.
		body = io.NopCloser(bytes.NewReader(asked.body))
	}
	request, err := http.NewRequestWithContext(ctx, asked.method, address, body)
	if err != nil {
		return nil, err
	}
	if asked.body != nil {
		request.ContentLength = int64(len(asked.body))
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+c.secretKey)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", userAgent)
	for name, value := range asked.headers {
		request.Header.Set(name, value)
	}
	return c.client.Do(request)
}

func accepts(statuses []int, status int) bool {
	for _, each := range statuses {
		if each == status {
			return true
		}
	}
	return false
}

// readBounded reads a body, decompressed by the transport; isWhole is false if it has more bytes.
func readBounded(body io.Reader, maxBytes int64) (text []byte, isWhole bool, err error) {
	var into bytes.Buffer
	_, err = into.ReadFrom(io.LimitReader(body, maxBytes+1))
	return into.Bytes(), int64(into.Len()) <= maxBytes, err
}

// dateOf is a header in milliseconds since the epoch; false if it is not a date.
func dateOf(header http.Header) (float64, bool) {
	at, err := http.ParseTime(header.Get("Date"))
	return float64(at.UnixMilli()), err == nil
}
