package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) {
	os.Exit(shared.Run(m, func() error { return goleak.Find() }))
}

// shared are five masters for tests that leave them as they were.
var shared = redistest.Shared{N: 5}

// five returns the shared masters.
func five(t *testing.T) []*redisserver.Server {
	t.Helper()
	return shared.Masters(t)
}

// open connects an engine to masters, closed at cleanup.
func open(t *testing.T, masters []*redisserver.Server, changes ...func(*engine.Config)) *engine.Engine {
	t.Helper()
	cfg := engine.Config{Masters: redistest.Addrs(masters), MastersAreNew: true, MasterTimeout: 2 * time.Second}
	for _, change := range changes {
		change(&cfg)
	}
	e, err := engine.New(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// bent connects an engine through one link per master.
func bent(t *testing.T, masters []*redisserver.Server, changes ...func(*engine.Config)) (*engine.Engine, []*faultconn.Link) {
	t.Helper()
	links, byAddress := make([]*faultconn.Link, len(masters)), make(faultconn.Links)
	for i, m := range masters {
		links[i] = faultconn.NewLink()
		byAddress[m.Addr()] = links[i]
		t.Cleanup(links[i].Cut) // after the engine is closed
	}
	changes = append(changes, func(c *engine.Config) { c.Client.DialCtxFn = byAddress.Dial })
	return open(t, masters, changes...), links
}

// least gives masters the user of package engine's documentation, without what only some engines
// need, and returns how an engine connects as that.
func least(t *testing.T, masters []*redisserver.Server) func(*engine.Config) {
	t.Helper()
	doc, err := os.ReadFile("../doc.go")
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^//\tACL SETUSER locks (.*)$`).FindAllSubmatch(doc, -1)
	require.Len(t, lines, 4, "needed, faster, fencing, native")
	rights := strings.Fields(strings.ReplaceAll(string(lines[0][1])+" "+string(lines[1][1]), "'", ""))
	for _, m := range masters {
		redistest.Command(t, m, slices.Concat([]string{"ACL", "SETUSER", "locks", "reset"}, rights)...)
	}
	return func(c *engine.Config) { c.Client = rueidis.ClientOption{Username: "locks", Password: "PASSWORD"} }
}

func durable(c *engine.Config) { c.MastersAreDurable = true }

func holder(text string) func(*engine.Config) { return func(c *engine.Config) { c.Holder = text } }

// redsyncs is a value as Redsync makes it.
const redsyncs = "c29tZXRoaW5nIHJhbmRvbQ=="

// put gives masters a lock's key as another client does.
func put(t *testing.T, masters []*redisserver.Server, name, value string) {
	t.Helper()
	for _, m := range masters {
		require.Equal(t, "OK", redistest.Command(t, m, "SET", name, value, "NX", "PX", "60000"))
	}
}

// get returns the value of a key on each master; "" where it is missing.
func get(t *testing.T, masters []*redisserver.Server, name string) []string {
	t.Helper()
	values := make([]string, len(masters))
	for i, m := range masters {
		values[i], _ = redistest.Command(t, m, "GET", name).(string)
	}
	return values
}

// soon waits for a condition that the masters or the engine's background work bring about.
func soon(t *testing.T, condition func() bool, why ...any) {
	t.Helper()
	require.Eventually(t, condition, 8*time.Second, 5*time.Millisecond, why...) // less than a lease
}

// everywhere waits until a lock's key is on all masters.
func everywhere(t *testing.T, masters []*redisserver.Server, name string) {
	t.Helper()
	soon(t, func() bool { return !slices.Contains(get(t, masters, name), "") }, "the key is on all masters")
}

// gone waits until no master has the key.
func gone(t *testing.T, masters []*redisserver.Server, name string) {
	t.Helper()
	soon(t, func() bool { return strings.Join(get(t, masters, name), "") == "" }, "the key is gone")
}

// count returns how many masters an engine has of which is says so.
func count(e *engine.Engine, is func(engine.MasterStats) bool) (n int) {
	for _, m := range e.Stats().Masters {
		if is(m) {
			n++
		}
	}
	return n
}

func upMasters(e *engine.Engine) int {
	return count(e, func(m engine.MasterStats) bool { return m.Up })
}

// requireHidden asserts that a text is not shown, however a value is printed.
func requireHidden(t *testing.T, secret string, values ...any) {
	t.Helper()
	for _, v := range values {
		text, _ := json.Marshal(v)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			text = fmt.Appendf(text, verb, v)
		}
		require.NotContains(t, string(text), secret, "%T", v)
		require.NotContains(t, string(text), fmt.Sprintf("%x", secret), "%T", v)
	}
}
