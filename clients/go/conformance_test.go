package keyrail

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"testing"
)

// The driver of clients/conformance. It is the program of the tests, because it gives a node its own clock,
// randomness and loop, which no vendor needs:
//
//	go test -c -o driver . && ./driver -conformance

var isDriver = flag.Bool("conformance", false, "reads commands of clients/conformance from the standard input")

func TestMain(m *testing.M) {
	flag.Parse()
	if *isDriver {
		serveCommands(os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

func serveCommands(in io.Reader, out io.Writer) {
	driver := &conformanceDriver{}
	lines := bufio.NewReaderSize(in, 1<<20)
	var mu sync.Mutex
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			command := readCommand(line)
			answered := func(answer map[string]any) {
				answer["id"] = command.ID
				mu.Lock()
				defer mu.Unlock()
				_, _ = out.Write(append(textOf(answer), '\n'))
			}
			if command.Op == "open" {
				answered(driver.do(command))
			} else {
				// Time advances while a poll is under way.
				go func() { answered(driver.do(command)) }()
			}
		}
		if err != nil {
			return
		}
	}
}

type conformanceCommand struct {
	ID        int64
	Op        string
	URL       string
	SecretKey string `json:"secret_key"`
	Project   string
	Env       string
	Tenants   []string
	Wall      *float64
	Uptime    float64
	Random    float64
	CachedTTL float64 `json:"cached_ttl"`
	Interval  float64 `json:"poll_interval"`
	MaxKeys   int     `json:"max_keys"`
	CacheDir  string  `json:"cache_dir"`
	Timeout   float64
	Ms        float64
	Key       *string
	IP        string
	Scopes    []string
	Cost      *int
	Requests  *int
	Headers   [][2]string
	Header    string
}

func readCommand(line []byte) *conformanceCommand {
	command := &conformanceCommand{}
	if err := json.Unmarshal(line, command); err != nil {
		fmt.Fprintln(os.Stderr, "no command:", err)
	}
	return command
}

// virtualClock moves when the runner says so.
type virtualClock struct {
	mu                       sync.Mutex
	wallMs, nowMs, runningMs float64
}

func (c *virtualClock) read(which *float64) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *which
}

func (c *virtualClock) wall() float64      { return c.read(&c.wallMs) }
func (c *virtualClock) monotonic() float64 { return c.read(&c.nowMs) }
func (c *virtualClock) uptime() float64    { return c.read(&c.runningMs) }

func (c *virtualClock) advance(ms, wallMs float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nowMs += ms
	c.runningMs += ms
	c.wallMs += wallMs
}

type conformanceDriver struct {
	keys  *Keys
	clock *virtualClock

	mu   sync.Mutex
	said []string
}

func (d *conformanceDriver) heard() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	said := append([]string{}, d.said...)
	d.said = nil
	return said
}

func (d *conformanceDriver) do(command *conformanceCommand) map[string]any {
	ctx := context.Background()
	if command.Op == "open" {
		return d.open(command)
	}
	k := d.keys
	switch command.Op {
	case "poll":
		return d.poll(ctx)
	case "advance":
		wallMs := command.Ms
		if command.Wall != nil {
			wallMs = *command.Wall
		}
		d.clock.advance(command.Ms, wallMs)
		return map[string]any{}
	case "verify":
		return verdictFields(k.Verify(keyIn(command), Requirements{Scopes: command.Scopes, Env: command.Env, IP: command.IP}))
	case "ready":
		return map[string]any{"ready": k.poller.servesOrDid()}
	case "save":
		if k.disk != nil {
			k.disk.close(k.follower.kept())
		}
		return map[string]any{}
	case "limit":
		return limitFields(k.Limit(ctx, k.Verify(keyIn(command), Requirements{}), intOr(command.Cost, 1)))
	case "count":
		k.Count(k.Verify(keyIn(command), Requirements{}), intOr(command.Requests, 1))
		return map[string]any{}
	case "report":
		k.usage.send(ctx)
		pending := k.Stats().PendingRequests
		return map[string]any{"code": textOrNull(k.usage.last), "pending": pending}
	case "gate":
		return gateFields(k, command)
	}
	return map[string]any{"unsupported": true}
}

func (d *conformanceDriver) open(command *conformanceCommand) map[string]any {
	settings, err := readOptions(Options{
		URL: command.URL, SecretKey: command.SecretKey, Project: command.Project, Env: command.Env, Tenants: command.Tenants,
		CachedTTL: durationOf(command.CachedTTL), PollInterval: durationOf(command.Interval), MaxKeys: command.MaxKeys,
		CacheDir: command.CacheDir,
		OnError: func(err *Error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.said = append(d.said, err.Code)
		},
	})
	if err != nil {
		return map[string]any{"failed": err.Error()}
	}
	d.clock = &virtualClock{wallMs: *command.Wall, runningMs: command.Uptime}
	d.heard()
	d.keys = open(settings, d.clock, func() float64 { return command.Random })
	d.keys.follower.caller.mostMs = command.Timeout
	// Only save writes: a dropped node writes nothing.
	d.keys.poller.polled = func() {}
	d.keys.begin()
	return map[string]any{"reports": d.heard()}
}

func (d *conformanceDriver) poll(ctx context.Context) map[string]any {
	d.heard()
	before, _, _ := d.keys.poller.state()
	delayMs, goesOn := d.keys.poller.pollOnce(ctx)
	after, last, _ := d.keys.poller.state()
	answer := map[string]any{"outcome": outcomeOf(before, after), "reports": d.heard(), "delay": delayMs}
	if after.Error > before.Error {
		answer["code"] = last.Code
	}
	if !goesOn {
		answer["delay"] = nil
	}
	return answer
}

func outcomeOf(before, after Polls) string {
	switch {
	case after.Snapshot > before.Snapshot:
		return "snapshot"
	case after.Delta > before.Delta:
		return "delta"
	case after.Unchanged > before.Unchanged:
		return "unchanged"
	}
	return "error"
}

func keyIn(command *conformanceCommand) string {
	if command.Key == nil {
		return ""
	}
	return *command.Key
}

func intOr(given *int, or int) int {
	if given == nil {
		return or
	}
	return *given
}

func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func finiteOrNull(number float64) any {
	if math.IsInf(number, 0) || math.IsNaN(number) {
		return nil
	}
	return number
}
