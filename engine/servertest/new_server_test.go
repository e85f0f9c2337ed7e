package servertest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/limits"
	"muxlock/internal/redisfake"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

// refusing returns an address on which nothing listens.
func refusing(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func TestNewRefusesAWrongPasswordWithoutQuotingIt(t *testing.T) {
	masters := redistest.MastersWith(t, 3, redisserver.Options{Password: "right-secret"})
	addrs := redistest.Addrs(masters)
	for name, cfg := range map[string]engine.Config{
		"wrong in Client": {Masters: addrs, Client: rueidis.ClientOption{Password: "wrong-secret"}},
		"none":            {Masters: addrs},
		"wrong in a URL":  {Masters: []string{"redis://default:wrong-secret@" + addrs[0], "redis://:wrong-secret@" + addrs[1], addrs[2]}},
		"wrong for two of three": {
			Masters: []string{addrs[0], "redis://:wrong-secret@" + addrs[1], "redis://:wrong-secret@" + addrs[2]},
			Client:  rueidis.ClientOption{Password: "right-secret"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.MasterTimeout = await.Patience
			_, err := engine.New(t.Context(), cfg)
			require.ErrorIs(t, err, engine.ErrInvalid)
			require.ErrorContains(t, err, "Masters: a master cannot be used as configured; ")
			require.ErrorContains(t, err, "set the right user and password")
			require.NotContains(t, err.Error(), "are needed", "enough are up")
			require.ErrorContains(t, err, addrs[2])
			require.Regexp(t, "WRONGPASS|NOAUTH", err.Error())
			require.NotContains(t, err.Error(), "secret")
		})
	}
	for name, cfg := range map[string]engine.Config{
		"for two of three":     {Masters: []string{addrs[0], addrs[1], "redis://:wrong-secret@" + addrs[2]}, Client: rueidis.ClientOption{Password: "right-secret"}},
		"in Client":            {Masters: addrs, Client: rueidis.ClientOption{Password: "right-secret"}},
		"in URLs":              {Masters: []string{"redis://:right-secret@" + addrs[0], "redis://default:right-secret@" + addrs[1] + "/0", "redis://:right-secret@" + addrs[2]}},
		"URLs override Client": {Masters: []string{"redis://:right-secret@" + addrs[0]}, Client: rueidis.ClientOption{Password: "wrong-secret"}},
		"from AuthCredentialsFn": {Masters: addrs, Client: rueidis.ClientOption{AuthCredentialsFn: func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
			return rueidis.AuthCredentials{Password: "right-secret"}, nil
		}}},
		"with RESP2":      {Masters: addrs, Client: rueidis.ClientOption{Password: "right-secret", AlwaysRESP2: true, ClientName: "tester"}},
		"with a database": {Masters: addrs, Client: rueidis.ClientOption{Password: "right-secret", SelectDB: 3}},
	} {
		t.Run("right "+name, func(t *testing.T) {
			cfg.MastersAreNew, cfg.MasterTimeout = true, await.Patience
			e, err := engine.New(t.Context(), cfg)
			require.NoError(t, err)
			cycle(t, e, t.Name())
			require.NoError(t, e.Close())
		})
	}
}

// unfit has masters on which waiting does not help, and what the error says of each.
var unfit = map[string]struct {
	args   []string
	before func(t *testing.T, m *redisserver.Server)
	says   string
}{
	"cluster":         {args: []string{"--cluster-enabled", "yes"}, says: "cluster mode, .*: name servers with cluster-enabled no"},
	"without EVALSHA": {args: []string{"--rename-command", "EVALSHA", ""}, says: "trial lock: unknown command 'EVALSHA' .*rename-command"},
	"without SCRIPT":  {args: []string{"--rename-command", "SCRIPT", ""}, says: "SCRIPT LOAD .*: unknown command 'SCRIPT' .*rename-command"},
	"without SET":     {args: []string{"--rename-command", "SET", ""}, says: "trial lock: unknown command 'SET' .*rename-command"},
	"without PTTL":    {args: []string{"--rename-command", "PTTL", ""}, says: "trial lock: unknown command in a script: GET, PTTL or PEXPIRE .*rename-command"},
	"without a right": {before: func(t *testing.T, m *redisserver.Server) {
		redistest.Command(t, m, "ACL", "SETUSER", "default", "-evalsha")
	}, says: "NOPERM .*grant the rights"},
}

func TestNewDoesNotWaitForServersThatWillNotDo(t *testing.T) {
	t.Parallel()
	good := redistest.Masters(t, 2)
	for name, c := range unfit {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := redistest.MastersWith(t, 2, redisserver.Options{Args: c.args})
			if c.before != nil {
				for _, m := range bad {
					c.before(t, m)
				}
			}
			requireRuledOut(t, good, redistest.Addrs(bad), c.says)
		})
	}
}

// requireRuledOut asserts that New refuses two bad masters beside a good one, and works with one bad beside two.
func requireRuledOut(t *testing.T, good []*redisserver.Server, bad []string, says string, changes ...func(*engine.Config)) {
	t.Helper()
	addrs := redistest.Addrs(good)
	cfg := with(engine.Config{Masters: append(bad[:2:2], addrs[0]), MastersAreNew: true, MasterTimeout: await.Patience}, changes...)
	_, err := engine.New(t.Context(), cfg)
	require.ErrorIs(t, err, engine.ErrInvalid)
	require.NotErrorIs(t, err, engine.ErrNoQuorum)
	require.Regexp(t, says, err)
	cfg.Masters = append(addrs[:2:2], bad[0])
	e, err := engine.New(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	require.Regexp(t, says, cause(e, 2))
	cycle(t, e, t.Name())
}

func TestNewDoesNotWaitForSentinels(t *testing.T) {
	t.Parallel()
	good := redistest.Masters(t, 2)
	requireRuledOut(t, good, []string{sentinel(t), sentinel(t)}, "is a Sentinel: name the masters")
}

// sentinel starts a Sentinel that watches nothing, and returns its address.
func sentinel(t *testing.T) (address string) {
	program, err := redisserver.Binary()
	require.NoError(t, err)
	dir := t.TempDir()
	_, port, err := net.SplitHostPort(refusing(t))
	require.NoError(t, err)
	file := filepath.Join(dir, "sentinel.conf")
	require.NoError(t, os.WriteFile(file, []byte("bind 127.0.0.1\nport "+port+"\ndir "+dir+"\n"), 0o600))
	c := exec.Command(program, file, "--sentinel")
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		require.NoError(t, c.Process.Kill())
		_ = c.Wait() // killed
	})
	address = "127.0.0.1:" + port
	await.True(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return address
}

// A server that is full, or still loads its data, may be back soon.
func TestNewWaitsForServersThatAreFullAndSaysSo(t *testing.T) {
	t.Parallel()
	masters := redistest.MastersWith(t, 2, redisserver.Options{Args: []string{"--maxclients", "1"}})
	for _, m := range masters {
		await.True(t, func() bool { // the server may still have the client that found it ready
			only, err := net.Dial("tcp", m.Addr())
			if err != nil {
				return false
			}
			t.Cleanup(func() { only.Close() })
			answer := make([]byte, len("+PONG\r\n"))
			_, _ = only.Write([]byte("PING\r\n")) // a refused connection may be reset
			_, _ = io.ReadFull(only, answer)
			return string(answer) == "+PONG\r\n"
		})
	}
	for range 20 { // sometimes it resets the connection, sometimes it ends it
		_, err := engine.New(t.Context(), engine.Config{Masters: redistest.Addrs(masters), MasterTimeout: await.Patience})
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		require.NotErrorIs(t, err, engine.ErrInvalid)
		require.ErrorContains(t, err, masters[0].Addr()+": max number of clients reached")
		require.ErrorContains(t, err, masters[1].Addr()+": max number of clients reached")
		require.NotContains(t, err.Error(), "TLS")
	}
}

// answers has three masters in this process answer commands in their own way, whatever the arguments.
func answers(how map[string]any) engine.Config {
	cfg := engine.Config{MastersAreNew: true}
	var masters []*redisfake.Server
	for i := range 3 {
		masters, cfg.Masters = append(masters, redisfake.New()), append(cfg.Masters, fmt.Sprintf("192.0.2.%d:6379", i))
		masters[i].Answer(func(words []string) any { return how[words[0]] })
	}
	cfg.Client.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		return masters[slices.Index(cfg.Masters, address)].Dial(ctx, address, d, c)
	}
	return cfg
}

// Proxies refuse HELLO in words of their own. Waiters poll then: RESP2 has no pushes.
func TestServersThatRefuseHelloAreSpokenToInRESP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := answers(map[string]any{"HELLO": errors.New("ERR protocol version not supported"), "AUTH": "OK"})
		cfg.Client.Password = "of the proxy"
		e, err := engine.New(t.Context(), cfg)
		require.NoError(t, err)
		defer e.Close()
		require.Equal(t, 3, upMasters(e))
		other, err := engine.New(t.Context(), cfg)
		require.NoError(t, err)
		defer other.Close()
		lock := mustAcquire(t, e, "name", 0)
		time.AfterFunc(time.Second, func() { _ = lock.Release(context.Background()) })
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err = other.Acquire(ctx, "name", 0)
		require.NoError(t, err)
	})
}

// A proxy may greet for a server that is gone.
func TestNewShowsWhatAServerSaidAfterTheGreeting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := answers(nil)
		dial := cfg.Client.DialCtxFn
		gone := redisfake.New()
		gone.Mangle(func(nth int, reply []byte) ([]byte, bool) {
			if nth == 3 { // after the replies to HELLO and twice CLIENT
				return []byte("-ERR backend is gone\r\n"), true
			}
			return reply, false
		})
		cfg.Client.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
			if address == cfg.Masters[2] {
				return gone.Dial(ctx, address, d, c)
			}
			return dial(ctx, address, d, c)
		}
		e, err := engine.New(t.Context(), cfg)
		require.NoError(t, err)
		defer e.Close()
		require.Equal(t, "backend is gone (EOF)", cause(e, 2))
	})
}

func TestNewSaysWhatAServerWithoutRunIDLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := engine.New(t.Context(), answers(map[string]any{"INFO": "# Server\r\nuptime_in_seconds:1\r\n"}))
		require.ErrorIs(t, err, engine.ErrInvalid)
		require.ErrorContains(t, err, "INFO has no run_id")
		require.ErrorContains(t, err, "enginetest")
	})
}

// What protected mode says to those who connect from elsewhere, as soon as they do.
func TestNewShowsWhyAServerClosesTheConnectionAtOnce(t *testing.T) {
	const denied = "DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user."
	for name, end := range map[string]func(*net.TCPConn) error{"end": (*net.TCPConn).CloseWrite, "reset": (*net.TCPConn).Close} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					defer c.Close()
					_, _ = c.Write([]byte("-" + denied + "\r\n"))
					_ = end(c.(*net.TCPConn))
				}
			}()
			_, err = engine.New(t.Context(), engine.Config{Masters: []string{l.Addr().String()}, MasterTimeout: await.Patience})
			require.ErrorIs(t, err, engine.ErrInvalid)
			require.ErrorContains(t, err, denied)
			require.ErrorContains(t, err, "protected-mode no")
			require.NotContains(t, err.Error(), "TLS")
		})
	}
}

func TestNewRefusesADatabaseThatIsNotThere(t *testing.T) {
	_, err := engine.New(t.Context(), engine.Config{Masters: redistest.Addrs(five(t)), Client: rueidis.ClientOption{SelectDB: 1000}, MasterTimeout: await.Patience})
	require.ErrorIs(t, err, engine.ErrInvalid)
	require.ErrorContains(t, err, "DB index is out of range")
}

func TestNewWithoutAMajorityNamesThoseThatFailed(t *testing.T) {
	masters := redistest.Addrs(five(t))
	away := []string{refusing(t), refusing(t), refusing(t)}
	_, err := engine.New(t.Context(), engine.Config{Masters: append(masters[:2:2], away...), MasterTimeout: await.Patience})
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.NotErrorIs(t, err, engine.ErrInvalid)
	for _, addr := range away {
		require.ErrorContains(t, err, addr)
	}
	require.NotContains(t, err.Error(), masters[0])
}

func TestNewWorksWhileAMinorityIsAway(t *testing.T) {
	masters := redistest.Masters(t, 5)
	ups := []func(){redistest.Down(t, masters[3]), redistest.Down(t, masters[4])}
	e := open(t, masters)
	require.Equal(t, 3, upMasters(e))
	require.NotEmpty(t, cause(e, 3))
	for i := range 10 {
		cycle(t, e, fmt.Sprint(i))
	}
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	for _, up := range ups {
		up()
	}
	await.Equal(t, 5, func() any { return upMasters(e) }, "they are probed")
	require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters, t.Name())
}

func TestNewRefusesOneServerUnderTwoAddresses(t *testing.T) {
	masters := redistest.Addrs(five(t))
	_, port, err := net.SplitHostPort(masters[0])
	require.NoError(t, err)
	_, err = engine.New(t.Context(), engine.Config{Masters: []string{masters[0], masters[1], "localhost:" + port}, MasterTimeout: await.Patience})
	require.ErrorIs(t, err, engine.ErrInvalid)
	require.ErrorContains(t, err, "same server")
	require.ErrorContains(t, err, port)
}

func TestNewRefusesAReplica(t *testing.T) {
	masters := redistest.Masters(t, 3)
	redistest.Command(t, masters[0], "REPLICAOF", "127.0.0.1", "1")
	e := open(t, masters)
	require.Contains(t, cause(e, 0), "not a master")
	redistest.Command(t, masters[1], "REPLICAOF", "127.0.0.1", "1")
	_, err := engine.New(t.Context(), engine.Config{Masters: redistest.Addrs(masters), MasterTimeout: await.Patience})
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.ErrorContains(t, err, "not a master")
}

func TestNewEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := engine.New(ctx, engine.Config{Masters: redistest.Addrs(five(t))})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
}

func TestNewEndsWithItsContextWhileMastersHang(t *testing.T) {
	masters := redistest.Masters(t, 3)
	for _, m := range masters {
		require.NoError(t, m.Pause())
	}
	const timeout = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := engine.New(ctx, engine.Config{Masters: redistest.Addrs(masters), TTL: 2 * timeout, MasterTimeout: timeout})
	took := time.Since(begin)
	t.Logf("New took %v", took)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.Less(t, took, timeout/2, "it has waited for ctx, and not for the masters")
}

func TestNewContextIsNotUsedAfterwards(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	masters := redistest.Masters(t, 3)
	e, err := engine.New(ctx, engine.Config{Masters: redistest.Addrs(masters), MastersAreNew: true, MasterTimeout: await.Patience})
	require.NoError(t, err)
	defer e.Close()
	cancel()
	cycle(t, e, t.Name())
	require.NoError(t, masters[0].Kill())
	require.NoError(t, masters[0].Restart(t.Context()))
	await.True(t, func() bool {
		cycle(t, e, t.Name())
		return back(e, 0, 0)
	}, "reconnects")
}

func TestNewWithABadConfigSendsNothing(t *testing.T) {
	link := faultconn.NewLink()
	_, err := engine.New(t.Context(), engine.Config{Masters: []string{"127.0.0.1:1"}, TTL: -1, Client: rueidis.ClientOption{DialCtxFn: link.Dial}})
	require.ErrorIs(t, err, engine.ErrInvalid)
	require.Zero(t, link.Dials())
}

func TestConfigIsReadOnlyOnce(t *testing.T) {
	addrs := redistest.Addrs(five(t))
	cfg := engine.Config{Masters: append([]string(nil), addrs...), MastersAreNew: true, MasterTimeout: await.Patience}
	e, err := engine.New(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	clear(cfg.Masters)
	cycle(t, e, t.Name())
	require.Equal(t, addrs[0], e.Stats().Masters[0].Address)
}

func TestBadArgumentsSendNothing(t *testing.T) {
	e := open(t, five(t))
	for _, c := range []struct {
		name, field string
		ttl         time.Duration
	}{
		{"", "name", 0},
		{strings.Repeat("x", limits.NameBytes+1), "name", 0},
		{"__muxlock__:x", "name", 0},
		{"x", "ttl", -1},
		{"x", "ttl", 999 * time.Microsecond},
		{"x", "ttl", 200 * time.Millisecond},
		{"x", "ttl", 30*time.Second + 1},
		{"x", "ttl", 1 << 62},
	} {
		_, err := e.Acquire(t.Context(), c.name, c.ttl)
		require.ErrorIs(t, err, engine.ErrInvalid)
		require.ErrorContains(t, err, c.field)
		_, err = e.TryAcquire(t.Context(), c.name, c.ttl)
		require.ErrorIs(t, err, engine.ErrInvalid)
		err = e.Do(t.Context(), c.name, c.ttl, func(context.Context) error { panic("not held") })
		require.ErrorIs(t, err, engine.ErrInvalid)
	}
	require.Zero(t, e.Stats().Requests)
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.ErrorIs(t, lock.Extend(t.Context(), -1), engine.ErrInvalid)
	require.ErrorIs(t, lock.Extend(t.Context(), time.Hour), engine.ErrInvalid)
	require.True(t, lock.Valid())
	require.NoError(t, lock.Release(t.Context()))
}

func TestClosedEngineRefusesEverything(t *testing.T) {
	e := open(t, five(t))
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NoError(t, e.Close())
	require.NoError(t, e.Close(), "again")
	_, err = e.Acquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, engine.ErrClosed)
	_, err = e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, engine.ErrClosed)
	require.ErrorIs(t, e.Do(t.Context(), t.Name(), 0, func(context.Context) error { panic("not held") }), engine.ErrClosed)
	require.ErrorIs(t, lock.Extend(t.Context(), 0), engine.ErrClosed)
	require.ErrorIs(t, lock.Err(), engine.ErrLost)
	require.ErrorIs(t, lock.Err(), engine.ErrClosed)
	<-lock.Done()
	require.ErrorIs(t, lock.Release(t.Context()), engine.ErrClosed)
	require.False(t, lock.Valid())
	require.Zero(t, upMasters(e))
}

func TestCloseEndsWaitersWithErrClosed(t *testing.T) {
	masters := five(t)
	e := open(t, masters, func(c *engine.Config) { c.RetryHeld = time.Minute })
	other := open(t, masters)
	lock, err := other.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	ended := make(chan error, 10)
	for range cap(ended) {
		go func() {
			_, err := e.Acquire(context.Background(), t.Name(), 0)
			ended <- err
		}()
	}
	await.True(t, func() bool { return e.Stats().Taken == 1 && e.Stats().Waiting == cap(ended)-1 })
	require.NoError(t, e.Close())
	for range cap(ended) {
		err := <-ended
		require.ErrorIs(t, err, engine.ErrClosed)
		require.ErrorIs(t, err, engine.ErrTaken)
	}
	require.NoError(t, lock.Release(t.Context()))
}

func TestCloseUnderLoadWaitsForNoMasterAndLeavesOnlyWhatIsHeld(t *testing.T) {
	for _, stopped := range []int{0, 1, 3} {
		t.Run(fmt.Sprintf("stopped=%d", stopped), func(t *testing.T) {
			masters := redistest.Masters(t, 5)
			e := open(t, masters, masterTimeout(await.Patience/4))
			ready := make(chan struct{}, 64)
			var load sync.WaitGroup
			for i := range cap(ready) {
				load.Go(func() {
					for n := 0; ; n++ {
						lock, err := e.TryAcquire(context.Background(), fmt.Sprint(i, "/", n), 0)
						if err == nil {
							err = lock.Release(context.Background())
						}
						switch {
						case errors.Is(err, engine.ErrClosed):
							return
						case err != nil && !errors.Is(err, engine.ErrNoQuorum):
							t.Errorf("unexpected: %v", err)
							return
						}
						if n == 20 {
							ready <- struct{}{}
						}
					}
				})
			}
			for range cap(ready) {
				<-ready
			}
			for _, m := range masters[:stopped] {
				require.NoError(t, m.Pause())
			}
			begin := time.Now() // those that are stopped stay so until it returns
			var closers sync.WaitGroup
			for range 3 {
				closers.Go(func() {
					if err := e.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			closers.Wait()
			t.Logf("Close took %v", time.Since(begin))
			load.Wait()
			for _, m := range masters[:stopped] {
				require.NoError(t, m.Resume())
			}
			// An acquire that was granted just before may find its release refused.
			require.LessOrEqual(t, len(redistest.Keys(t, masters[stopped:]...)), 64*(5-stopped))
		})
	}
}

func TestCloseDoesNotWaitForAProbeThatHangs(t *testing.T) {
	const timeout = time.Minute
	masters := redistest.Masters(t, 3)
	e, links := bent(t, masters, masterTimeout(timeout), func(c *engine.Config) { c.TTL = 2 * timeout })
	links[0].Cut()
	links[0].HoldReplies(true)
	cycle(t, e, t.Name())
	await.True(t, func() bool {
		return strings.Contains(redistest.Command(t, masters[0], "CLIENT", "LIST").(string), "resp=3")
	}, "the probe has sent its greeting, and nothing answers")
	begin := time.Now()
	require.NoError(t, e.Close())
	took := time.Since(begin)
	t.Logf("Close took %v with MasterTimeout %v", took, timeout)
	require.Less(t, took, timeout/2, "nothing is under way but a probe")
}

func TestManyEnginesOpenAndCloseWithoutALeak(t *testing.T) {
	masters := five(t)
	for range 10 {
		e, err := engine.New(t.Context(), engine.Config{Masters: redistest.Addrs(masters), MastersAreNew: true, MasterTimeout: await.Patience})
		require.NoError(t, err)
		cycle(t, e, t.Name())
		require.NoError(t, e.Close())
	}
	clients := func() int {
		return strings.Count(redistest.Command(t, masters[0], "CLIENT", "LIST").(string), "\n")
	}
	await.Equal(t, 1, func() any { return clients() }, "the connections are gone too")
}
