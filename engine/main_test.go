package engine

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/internal/redisserver"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) {
	for env, act := range map[string]func([]string){holderEnv: actAsHolder, loadEnv: actAsLoad, leaderEnv: actAsLeader, measuredEnv: actAsMeasured} {
		if masters := os.Getenv(env); masters != "" {
			act(strings.Split(masters, ","))
			return
		}
	}
	os.Exit(shared.Run(m, func() error { return goleak.Find() }))
}

// shared are five masters for tests that leave them as they were.
var shared = redistest.Shared{N: 5}

// five returns the shared masters.
var five = shared.Masters

// patience is how long masters may take that no test stops: longer than a busy machine keeps
// them waiting. Leases are longer.
const patience = 2 * time.Second

// open connects an engine to masters, closed at cleanup.
func open(t testing.TB, masters []*redisserver.Server, changes ...func(*Config)) *Engine {
	t.Helper()
	cfg := Config{Masters: redistest.Addrs(masters), MastersAreNew: true, MasterTimeout: patience}
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

// durable lets a restarted master vote as soon as it is admitted.
func durable(c *Config) { c.MastersAreDurable = true }

func holder(text string) func(*Config) { return func(c *Config) { c.Holder = text } }

// soon waits for a condition that the masters or the engine's background work bring about.
func soon(t testing.TB, condition func() bool, why ...any) {
	t.Helper()
	require.Eventually(t, condition, 15*time.Second, 5*time.Millisecond, why...)
}

// quiet waits until nothing is under way: a call returns with the quorum's answers.
func quiet(t testing.TB, e *Engine) {
	t.Helper()
	soon(t, func() bool {
		s := e.Stats()
		for _, m := range s.Masters {
			if m.InFlight+m.Backlog > 0 {
				return false
			}
		}
		return s.Queued == 0
	}, "nothing is under way")
}

// everywhere waits until a lock's key is on all masters: the call returns with the quorum's
// answers. It may never be where another's key has only just run out.
func everywhere(t testing.TB, masters []*redisserver.Server, l *Lock) {
	t.Helper()
	soon(t, func() bool {
		for _, value := range redistest.Get(t, masters, l.Name()) {
			if value != l.Reveal() {
				return false
			}
		}
		return true
	}, "the key is on all masters")
}

// heldEverywhere acquires the lock named after the test, and waits until it is on all masters.
func heldEverywhere(t testing.TB, e *Engine, masters []*redisserver.Server, ttl time.Duration) *Lock {
	t.Helper()
	lock, err := e.TryAcquire(t.Context(), t.Name(), ttl)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	return lock
}

// having returns how many masters have a lock's key.
func having(t testing.TB, masters []*redisserver.Server, l *Lock) (n int) {
	t.Helper()
	for _, value := range redistest.Get(t, masters, l.Name()) {
		if value == l.Reveal() {
			n++
		}
	}
	return n
}

func upMasters(e *Engine) (n int) {
	for _, m := range e.Stats().Masters {
		if m.Up {
			n++
		}
	}
	return n
}

func setAside(e *Engine, master int) uint64 { return e.Stats().Masters[master].SetAside }

// back reports whether a master is up that was set aside since it had been so many times.
func back(e *Engine, master int, times uint64) bool {
	m := e.Stats().Masters[master]
	return m.Up && m.SetAside > times
}

func pendingReleases(e *Engine) (n int) {
	for _, m := range e.Stats().Masters {
		n += m.PendingReleases
	}
	return n
}

func cause(e *Engine, master int) string {
	if err := e.Stats().Masters[master].Cause; err != nil {
		return err.Error()
	}
	return ""
}

// cycle acquires and releases one lock and requires both to work.
func cycle(t testing.TB, e *Engine, name string) {
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
