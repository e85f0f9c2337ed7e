package admin

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) {
	os.Exit(shared.Run(m, func() error { return goleak.Find() }))
}

// shared are five masters for tests that leave them as they were.
var shared = redistest.Shared{N: 5}

// five returns the shared masters.
var five = shared.Masters

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
	links, byAddress := faultconn.To(t, redistest.Addrs(masters)) // cut after the engine is closed
	changes = append(changes, func(c *engine.Config) { c.Client.DialCtxFn = byAddress.Dial })
	return open(t, masters, changes...), links
}

// least gives masters the user of engine/README.md, without the rights that only some engines
// need. It returns a function that makes an engine connect as that user.
func least(t *testing.T, masters []*redisserver.Server) func(*engine.Config) {
	t.Helper()
	r := redistest.DocumentedRights(t)
	redistest.Grant(t, masters, slices.Concat(r.Needed, r.Faster)...)
	return func(c *engine.Config) { c.Client = rueidis.ClientOption{Username: "locks", Password: "PASSWORD"} }
}

func durable(c *engine.Config) { c.MastersAreDurable = true }

func holder(text string) func(*engine.Config) { return func(c *engine.Config) { c.Holder = text } }

// everywhere waits until a lock's key is on all masters.
func everywhere(t *testing.T, masters []*redisserver.Server, name string) {
	t.Helper()
	await.True(t, func() bool { return !slices.Contains(redistest.Get(t, masters, name), "") }, "the key is on all masters")
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
