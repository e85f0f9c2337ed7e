package engine

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) {
	if masters := os.Getenv(measuredEnv); masters != "" {
		actAsMeasured(strings.Split(masters, ","))
		return
	}
	os.Exit(shared.Run(m, func() error { return goleak.Find() }))
}

// shared are five masters for tests that leave them as they were.
var shared = redistest.Shared{N: 5}

// five returns the shared masters.
var five = shared.Masters

// open connects an engine to masters, closed at cleanup.
func open(t testing.TB, masters []*redisserver.Server, changes ...func(*Config)) *Engine {
	t.Helper()
	cfg := Config{Masters: redistest.Addrs(masters), MastersAreNew: true, MasterTimeout: await.Patience}
	for _, change := range changes {
		change(&cfg)
	}
	e, err := New(context.Background(), cfg)
	for tries := 0; errors.Is(err, ErrNoQuorum) && tries < 3; tries++ { // a busy machine
		e, err = New(context.Background(), cfg)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// bent connects an engine through one link per master.
func bent(t testing.TB, masters []*redisserver.Server, changes ...func(*Config)) (*Engine, []*faultconn.Link) {
	t.Helper()
	links, byAddress := faultconn.To(t, redistest.Addrs(masters)) // cut after the engine is closed
	changes = append(changes, func(c *Config) { c.Client.DialCtxFn = byAddress.Dial })
	return open(t, masters, changes...), links
}

func masterTimeout(d time.Duration) func(*Config) { return func(c *Config) { c.MasterTimeout = d } }

func holder(text string) func(*Config) { return func(c *Config) { c.Holder = text } }

// everywhere waits until a lock's key is on all masters: the call returns with the quorum's
// answers. It may never be where another's key has only just run out.
func everywhere(t testing.TB, masters []*redisserver.Server, l *Lock) {
	t.Helper()
	await.True(t, func() bool {
		return !slices.ContainsFunc(redistest.Get(t, masters, l.Name()), func(value string) bool { return value != l.lease.token })
	}, "the key is on all masters")
}

func setAside(e *Engine, master int) uint64 { return e.Stats().Masters[master].SetAside }

// cycle acquires and releases one lock and requires both to work.
func cycle(t testing.TB, e *Engine, name string) {
	t.Helper()
	lock, err := e.TryAcquire(context.Background(), name, 0)
	require.NoError(t, err)
	require.NoError(t, lock.Release(context.Background()))
}

func with(c Config, changes ...func(*Config)) Config {
	for _, change := range changes {
		change(&c)
	}
	return c
}

// fencedSet returns masters that are set up, and never granted a lock.
func fencedSet(t testing.TB, n int) []*redisserver.Server {
	t.Helper()
	masters := redistest.Masters(t, n)
	require.NoError(t, Admin.SetUp(context.Background(), setUpConfig(masters), SetUpOptions{MastersAreNew: true}))
	return masters
}

func setUpConfig(masters []*redisserver.Server) Config {
	return Config{Masters: redistest.Addrs(masters), MasterTimeout: 4 * await.Patience}
}

func fenced(c *Config) { c.MastersAreNew, c.Fencing = false, true }
