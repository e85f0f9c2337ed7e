package enginetest_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/engine/enginetest"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// A world is five masters: those of enginetest, or real ones with the same faults.
type world interface {
	open(t *testing.T, cfg engine.Config) *engine.Engine
	down(master int)
	up(master int)
	slow(master int, d time.Duration)
	restart(master int)
	refuse(name string)
	lose(name string)
	deny(name string) // it has to begin with "denied"
	keys() []string   // one that k masters hold is there k times
}

const masters = 5

// everywhere runs a test on the masters of enginetest, in a bubble and in real time, and on
// real ones.
func everywhere(t *testing.T, cfg engine.Config, test func(t *testing.T, w world, e *engine.Engine)) {
	t.Helper()
	t.Parallel()
	if cfg.MasterTimeout == 0 {
		cfg.MasterTimeout = await.Patience
	}
	t.Run("in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := enginetest.New(t, cfg)
			test(t, inProcess{e}, e.Engine)
		})
	})
	t.Run("in real time", func(t *testing.T) {
		t.Parallel()
		e := enginetest.New(t, cfg)
		test(t, inProcess{e}, e.Engine)
	})
	t.Run("on servers", func(t *testing.T) {
		t.Parallel()
		w := realMasters(t)
		if cfg.Fencing {
			require.NoError(t, admin.SetUp(t.Context(), w.config(cfg), admin.SetUpOptions{MastersAreNew: true}))
		}
		test(t, w, w.open(t, cfg))
	})
}

type inProcess struct{ *enginetest.Engine }

func (w inProcess) open(t *testing.T, cfg engine.Config) *engine.Engine { return w.Open(t, cfg) }
func (w inProcess) down(master int)                                     { w.Down(master) }
func (w inProcess) up(master int)                                       { w.Up(master) }
func (w inProcess) slow(master int, d time.Duration)                    { w.Slow(master, d) }
func (w inProcess) restart(master int)                                  { w.Restart(master) }
func (w inProcess) refuse(name string)                                  { w.Refuse(name) }
func (w inProcess) lose(name string)                                    { w.Lose(name) }
func (w inProcess) deny(name string)                                    { w.Deny(name) }
func (w inProcess) keys() []string                                      { return w.Keys() }

type onServers struct {
	t       *testing.T
	masters []*redisserver.Server
	links   faultconn.Links // by address
}

func realMasters(t *testing.T) *onServers {
	w := &onServers{t: t, masters: redistest.Masters(t, masters)}
	_, w.links = faultconn.To(t, redistest.Addrs(w.masters)) // cut after the engines are closed
	return w
}

func (w *onServers) config(cfg engine.Config) engine.Config {
	cfg.Masters = redistest.Addrs(w.masters)
	cfg.Client = rueidis.ClientOption{DialCtxFn: w.links.Dial}
	return cfg
}

func (w *onServers) open(t *testing.T, cfg engine.Config) *engine.Engine {
	t.Helper()
	cfg.MastersAreNew = !cfg.Fencing
	e, err := engine.New(t.Context(), w.config(cfg))
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

func (w *onServers) link(master int) *faultconn.Link { return w.links[w.masters[master].Addr()] }

func (w *onServers) down(master int) {
	w.link(master).RefuseDials(true)
	w.link(master).Cut()
}

func (w *onServers) up(master int)                    { w.link(master).RefuseDials(false) }
func (w *onServers) slow(master int, d time.Duration) { w.link(master).Delay(d) }

func (w *onServers) restart(master int) {
	require.NoError(w.t, w.masters[master].Kill())
	require.NoError(w.t, w.masters[master].Restart(w.t.Context()))
}

func (w *onServers) command(words ...string) {
	for _, m := range w.masters {
		redistest.Command(w.t, m, words...)
	}
}

func (w *onServers) refuse(name string) { w.command("SET", name, "nobody") }
func (w *onServers) lose(name string)   { w.command("DEL", name) }
func (w *onServers) keys() []string     { return redistest.Keys(w.t, w.masters...) }

func (w *onServers) deny(name string) {
	require.True(w.t, strings.HasPrefix(name, "denied"))
	w.command("ACL", "SETUSER", "default", "resetkeys", "~allowed*", "~__muxlock__:*")
}

// within returns a ctx for something that is to happen long before its end.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func mustAcquire(t *testing.T, e *engine.Engine, name string, ttl time.Duration) *engine.Lock {
	t.Helper()
	lock, err := e.Acquire(within(t), name, ttl)
	require.NoError(t, err)
	return lock
}

// free waits until no master has a lock.
func free(t *testing.T, w world) {
	t.Helper()
	await.True(t, func() bool {
		return !slices.ContainsFunc(w.keys(), func(key string) bool { return !strings.HasPrefix(key, "__muxlock__:") })
	}, "no master has a lock")
}
