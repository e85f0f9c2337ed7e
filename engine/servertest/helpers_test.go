package servertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) {
	for env, act := range map[string]func([]string){holderEnv: actAsHolder, loadEnv: actAsLoad, leaderEnv: actAsLeader} {
		if masters := os.Getenv(env); masters != "" {
			act(strings.Split(masters, ","))
			return
		}
	}
	os.Exit(shared.Run(m, func() error { return goleak.Find() }))
}

// openAs opens an engine for the documented user with these rules.
func openAs(t *testing.T, masters []*redisserver.Server, rights []string, changes ...func(*engine.Config)) (*engine.Engine, error) {
	t.Helper()
	redistest.Grant(t, masters, rights...)
	cfg := engine.Config{
		Masters: redistest.Addrs(masters), MastersAreNew: true, MasterTimeout: await.Patience,
		Client: rueidis.ClientOption{Username: "locks", Password: "PASSWORD"},
	}
	e, err := engine.New(t.Context(), with(cfg, changes...))
	if err == nil {
		t.Cleanup(func() { require.NoError(t, e.Close()) })
	}
	return e, err
}

// shortLease lets a master that lost its data be admitted again after about five seconds.
func shortLease(c *engine.Config) {
	c.MaxTTL, c.TTL, c.MasterTimeout = 2*await.Patience, 2*await.Patience, await.Patience
}

// shortSet returns masters that are set up for shortLease.
func shortSet(t testing.TB, n int) []*redisserver.Server {
	t.Helper()
	masters := redistest.MastersWith(t, n, redisserver.Options{Args: []string{"--repl-diskless-sync-delay", "0"}}) // keeps their folders
	setUp(t, shortConfig(masters), admin.SetUpOptions{MastersAreNew: true})
	return masters
}

// setUp sets masters up.
func setUp(t testing.TB, cfg engine.Config, opts admin.SetUpOptions) {
	t.Helper()
	require.NoError(t, again(func() error { return admin.SetUp(context.Background(), cfg, opts) }))
}

// again repeats what an operator does while masters are too late on a busy machine.
func again(do func() error) error {
	err := do()
	for tries := 0; errors.Is(err, os.ErrDeadlineExceeded) && tries < 10; tries++ {
		err = do()
	}
	return err
}

// shortConfig is for operators, who need an answer of each master: they give it nearly all of a lease.
func shortConfig(masters []*redisserver.Server) engine.Config {
	return with(engine.Config{Masters: redistest.Addrs(masters)}, shortLease, masterTimeout(2*await.Patience-100*time.Millisecond))
}

func with(c engine.Config, changes ...func(*engine.Config)) engine.Config {
	for _, change := range changes {
		change(&c)
	}
	return c
}

// ownKeys lists the keys on masters that the test at hand has made.
func ownKeys(t testing.TB, masters []*redisserver.Server) (keys []string) {
	t.Helper()
	for _, key := range redistest.Keys(t, masters...) {
		if strings.HasPrefix(key, t.Name()) {
			keys = append(keys, key)
		}
	}
	return keys
}

// fencedSet returns masters that are set up, and never granted a lock.
func fencedSet(t testing.TB, n int) []*redisserver.Server {
	t.Helper()
	masters := redistest.Masters(t, n)
	require.NoError(t, admin.SetUp(context.Background(), setUpConfig(masters), admin.SetUpOptions{MastersAreNew: true}))
	return masters
}

func setUpConfig(masters []*redisserver.Server) engine.Config {
	return engine.Config{Masters: redistest.Addrs(masters), MasterTimeout: 4 * await.Patience}
}

func fenced(c *engine.Config) { c.MastersAreNew, c.Fencing = false, true }

// shared are five masters for tests that leave them as they were.
var shared = redistest.Shared{N: 5}

// five returns the shared masters.
var five = shared.Masters

// open connects an engine to masters, closed at cleanup.
func open(t testing.TB, masters []*redisserver.Server, changes ...func(*engine.Config)) *engine.Engine {
	t.Helper()
	cfg := engine.Config{Masters: redistest.Addrs(masters), MastersAreNew: true, MasterTimeout: await.Patience}
	for _, change := range changes {
		change(&cfg)
	}
	e, err := engine.New(context.Background(), cfg)
	for tries := 0; errors.Is(err, engine.ErrNoQuorum) && tries < 3; tries++ { // a busy machine
		e, err = engine.New(context.Background(), cfg)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// bent connects an engine through one link per master.
func bent(t testing.TB, masters []*redisserver.Server, changes ...func(*engine.Config)) (*engine.Engine, []*faultconn.Link) {
	t.Helper()
	links, byAddress := faultconn.To(t, redistest.Addrs(masters)) // cut after the engine is closed
	changes = append(changes, func(c *engine.Config) { c.Client.DialCtxFn = byAddress.Dial })
	return open(t, masters, changes...), links
}

func masterTimeout(d time.Duration) func(*engine.Config) {
	return func(c *engine.Config) { c.MasterTimeout = d }
}

// durable lets a restarted master vote as soon as it is admitted.
func durable(c *engine.Config) { c.MastersAreDurable = true }

// quiet waits until nothing is under way: a call returns with the quorum's answers.
func quiet(t testing.TB, e *engine.Engine) {
	t.Helper()
	await.True(t, func() bool {
		s := e.Stats()
		for _, m := range s.Masters {
			if m.InFlight+m.Backlog > 0 {
				return false
			}
		}
		return s.Queued == 0
	}, "nothing is under way")
}

// everywhere waits until a lock's key is on all masters, with one value: the call returns with the quorum's
// answers. It may never be where another's key has only just run out.
func everywhere(t testing.TB, masters []*redisserver.Server, l *engine.Lock) {
	t.Helper()
	await.True(t, func() bool {
		values := slices.Compact(redistest.Get(t, masters, l.Name()))
		return len(values) == 1 && values[0] != ""
	}, "the key is on all masters")
}

// heldEverywhere acquires the lock named after the test, and waits until it is on all masters.
func heldEverywhere(t testing.TB, e *engine.Engine, masters []*redisserver.Server, ttl time.Duration) *engine.Lock {
	t.Helper()
	lock, err := e.TryAcquire(t.Context(), t.Name(), ttl)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	return lock
}

// having returns how many masters have a lock's key.
func having(t testing.TB, masters []*redisserver.Server, l *engine.Lock) (n int) {
	t.Helper()
	for _, value := range redistest.Get(t, masters, l.Name()) {
		if value == l.Reveal() {
			n++
		}
	}
	return n
}

func upMasters(e *engine.Engine) (n int) {
	for _, m := range e.Stats().Masters {
		if m.Up {
			n++
		}
	}
	return n
}

func setAside(e *engine.Engine, master int) uint64 { return e.Stats().Masters[master].SetAside }

// back reports whether a master is up that was set aside since it had been so many times.
func back(e *engine.Engine, master int, times uint64) bool {
	m := e.Stats().Masters[master]
	return m.Up && m.SetAside > times
}

func pendingReleases(e *engine.Engine) (n int) {
	for _, m := range e.Stats().Masters {
		n += m.PendingReleases
	}
	return n
}

func cause(e *engine.Engine, master int) string {
	if err := e.Stats().Masters[master].Cause; err != nil {
		return err.Error()
	}
	return ""
}

// cycle acquires and releases one lock and requires both to work.
func cycle(t testing.TB, e *engine.Engine, name string) {
	t.Helper()
	lock, err := e.TryAcquire(context.Background(), name, 0)
	require.NoError(t, err)
	require.NoError(t, lock.Release(context.Background()))
}

// A wire is a bare connection, for what a client library would not send or survive.
type wire struct {
	net.Conn
	*bufio.Reader
}

func dialWire(t testing.TB, master *redisserver.Server) wire {
	t.Helper()
	conn, err := net.Dial("tcp", master.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return wire{conn, bufio.NewReader(conn)}
}

func (w wire) send(t testing.TB, line string) {
	t.Helper()
	_, err := w.Write([]byte(line + "\r\n"))
	require.NoError(t, err)
}

// do sends an inline command and returns the first line of the reply.
func (w wire) do(t testing.TB, line string) string {
	t.Helper()
	w.send(t, line)
	require.NoError(t, w.SetReadDeadline(time.Now().Add(10*time.Second)))
	reply, err := w.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(reply)
}

// numbered returns n names that start with prefix.
func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, "/", i))
	}
	return names
}

func mustAcquire(t *testing.T, e *engine.Engine, name string, ttl time.Duration) *engine.Lock {
	t.Helper()
	lock, err := e.Acquire(t.Context(), name, ttl)
	require.NoError(t, err)
	return lock
}
