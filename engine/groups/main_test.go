package groups

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/engine"
	"muxlock/internal/redisfake"
	"muxlock/internal/testing/await"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// A world is masters in this process, by address: "a0" is the first of group a.
type world map[string]*redisfake.Server

func newWorld(t testing.TB) world {
	w := make(world)
	t.Cleanup(func() {
		for _, m := range w {
			m.Close()
		}
	})
	return w
}

// groups returns a map of groups with three masters each.
func (w world) groups(ids ...string) map[string][]string {
	all := make(map[string][]string)
	for _, id := range ids {
		for i := range 3 {
			address := fmt.Sprintf("%s%d:1", id, i)
			all[id] = append(all[id], address)
			w.master(address)
		}
	}
	return all
}

var growing sync.Mutex // guards that a world grows while an engine dials

// master returns the master at an address, of which there is one from now on.
func (w world) master(address string) *redisfake.Server {
	growing.Lock()
	defer growing.Unlock()
	if w[address] == nil {
		w[address] = redisfake.New()
	}
	return w[address]
}

// config returns the Config of a map, and of the one that it is being changed to; each is ids without a separator.
func (w world) config(now, next string) Config {
	cfg := Config{Config: engine.Config{MasterTimeout: await.Patience}, Groups: w.groups(strings.Split(now, "")...)}
	if next != "" {
		cfg.Next = w.groups(strings.Split(next, "")...)
	}
	cfg.Client.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		return w.master(address).Dial(ctx, address, d, c)
	}
	return cfg
}

// tried plays a process that ends at once, and returns why it did not start.
func tried(t testing.TB, cfg Config) error {
	e, err := New(t.Context(), cfg)
	if err == nil {
		err = e.Close()
	}
	return err
}

// open plays a process with these maps.
func (w world) open(t testing.TB, now, next string) *Engine {
	t.Helper()
	e, err := New(t.Context(), w.config(now, next))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// having returns the groups of which a quorum has a key.
func (w world) having(key string) (ids string) {
	found := make(map[string]int)
	for address, m := range w {
		if slices.Contains(m.Keys(), key) {
			found[address[:1]]++
		}
	}
	for _, id := range strings.Split("abcdefghij", "") {
		if found[id] >= 2 {
			ids += id
		}
	}
	return ids
}

// nameIn returns a name that both maps of an engine have in these groups: "a", or "ab" for one that moves.
func nameIn(t testing.TB, e *Engine, groups string, n int) string {
	t.Helper()
	for i := range 10000 {
		name := fmt.Sprint("name ", i)
		one, two := e.r.find(name)
		in := one.id
		if one != two {
			in += two.id
		}
		if in == groups {
			if n--; n < 0 {
				return name
			}
		}
	}
	t.Fatal("no name is in ", groups)
	return ""
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
