package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
	"muxlock/internal/redlock"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
	"muxlock/pipeline"
)

func TestStoppedMinorityCostsOneTimeoutAtMost(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	e := open(t, masters)
	for stopped := 1; stopped <= 2; stopped++ {
		require.NoError(t, masters[stopped-1].Pause())
		cost := 0 // cycles that may have waited for the master that is stopped
		for i := range 20 {
			begin := time.Now()
			cycle(t, e, fmt.Sprint(t.Name(), stopped, i))
			if took := time.Since(begin); took > patience/2 {
				t.Logf("%d stopped, cycle %d took %v", stopped, i, took)
				cost++
			}
		}
		require.LessOrEqual(t, cost, 2, "an acquire and a release at most")
		soon(t, func() bool { return upMasters(e) == 5-stopped })
	}
	for _, m := range masters[:2] {
		require.NoError(t, m.Resume())
	}
	soon(t, func() bool { return upMasters(e) == 5 }, "they come back by themselves")
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	everywhere(t, masters, lock)
	require.NoError(t, lock.Release(t.Context()))
	for stopped := 1; stopped <= 2; stopped++ {
		for i := range 20 {
			redistest.Gone(t, masters, fmt.Sprint(t.Name(), stopped, i))
		}
	}
}

func TestStoppedMajorityIsNoQuorumInTimeAndLeavesNothingLocked(t *testing.T) {
	const ttl = 25 * time.Second
	t.Parallel()
	masters := redistest.Masters(t, 5)
	e := open(t, masters)
	for _, m := range masters[:3] {
		require.NoError(t, m.Pause())
	}
	var names []string
	for i := range 3 {
		names = append(names, fmt.Sprint(t.Name(), i))
		ctx, cancel := context.WithTimeout(t.Context(), ttl/2)
		begin := time.Now()
		_, err := e.TryAcquire(ctx, names[i], ttl)
		cancel()
		t.Logf("attempt %d took %v with MasterTimeout %v", i, time.Since(begin), patience)
		require.ErrorIs(t, err, ErrNoQuorum)
		require.ErrorIs(t, err, ErrNotAcquired)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "it ends by itself")
		for _, m := range masters[:3] {
			require.Contains(t, err.Error(), m.Addr())
		}
	}
	redistest.Gone(t, masters[3:], names...)
	for _, m := range masters[:3] {
		require.NoError(t, m.Resume())
	}
	soon(t, func() bool { return upMasters(e) == 5 })
	soon(t, func() bool { return pendingReleases(e) == 0 }, "second releases are sent")
	redistest.Gone(t, masters, names...)
	cycle(t, e, names[0])
}

func TestWaitersOfAStoppedMajorityGoOnOnceItIsBack(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	e := open(t, masters)
	for _, m := range masters[:2] {
		require.NoError(t, m.Pause())
	}
	acquired := make(chan *Lock)
	go func() {
		lock, _ := e.Acquire(context.Background(), t.Name(), 0)
		acquired <- lock
	}()
	soon(t, func() bool { return e.Stats().NoQuorum > 1 })
	for _, m := range masters[:2] {
		require.NoError(t, m.Resume())
	}
	lock := <-acquired
	require.NotNil(t, lock)
	require.NoError(t, lock.Release(t.Context()))
	soon(t, func() bool { return upMasters(e) == 3 && pendingReleases(e) == 0 })
	redistest.Gone(t, masters, t.Name())
}

// What reaches the new process is read from its own MONITOR.
func TestRestartedMasterGetsNoCallBeforeTheProbeHasAdmittedIt(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters, durable) // no wait after the probe
	cycle(t, e, t.Name())
	links[0].RefuseDials(true)
	require.NoError(t, masters[0].Kill())
	require.NoError(t, masters[0].Restart(t.Context()))
	monitor := dialWire(t, masters[0])
	require.Equal(t, "+OK", monitor.do(t, "MONITOR"))

	for i := range 20 {
		lock, err := e.TryAcquire(t.Context(), fmt.Sprint(t.Name(), "/early/", i), 20*time.Second)
		require.NoError(t, err)
		defer lock.Release(context.Background())
	}
	soon(t, func() bool { return upMasters(e) == 4 })
	require.NotEmpty(t, cause(e, 0))
	require.Empty(t, redistest.Keys(t, masters[0]), "held back by refused dials")
	links[0].RefuseDials(false)
	soon(t, func() bool {
		lock, err := e.TryAcquire(t.Context(), fmt.Sprint(t.Name(), "/meanwhile/", time.Now().UnixNano()), 20*time.Second)
		require.NoError(t, err)
		defer lock.Release(context.Background())
		return upMasters(e) == 5
	}, "it comes back by itself")
	lock, err := e.TryAcquire(t.Context(), t.Name()+"/late", 20*time.Second)
	require.NoError(t, err)
	defer lock.Release(context.Background())
	everywhere(t, masters, lock)
	seen := monitored(t, monitor, "/late")
	require.NoError(t, checkGate(seen, t.Name()))
}

// The engine is idle when the master is restarted. The new connection is dialled once it
// is watched.
func TestMasterRestartedWhileTheClientIsIdleIsNotGrantedOnBeforeTheProbe(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters, durable)
	for round := range 3 {
		cycle(t, e, t.Name())
		quiet(t, e) // else what is on its way to the master notices
		times := setAside(e, 0)
		links[0].RefuseDials(true)
		require.NoError(t, masters[0].Kill())
		require.NoError(t, masters[0].Restart(t.Context()))
		monitor := dialWire(t, masters[0])
		require.Equal(t, "+OK", monitor.do(t, "MONITOR"))
		links[0].RefuseDials(false)
		soon(t, func() bool {
			cycle(t, e, fmt.Sprint(t.Name(), "/", time.Now().UnixNano()))
			return back(e, 0, times)
		})
		name := fmt.Sprint(t.Name(), "/late/", round)
		lock, err := e.TryAcquire(t.Context(), name, 20*time.Second)
		require.NoError(t, err)
		everywhere(t, masters, lock)
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, checkGate(monitored(t, monitor, name), t.Name()))
	}
}

func TestTheGateCheckerSeesACallBeforeTheProbe(t *testing.T) {
	probed := []string{
		`1.0 [0 127.0.0.1:1] "HELLO" "3"`,
		`1.1 [0 127.0.0.1:1] "INFO"`,
		`1.2 [0 127.0.0.1:1] "SET" "__muxlock__:trial:x" "x" "NX" "PX" "1000"`,
		`1.3 [0 127.0.0.1:1] "EVALSHA" "abc" "1" "__muxlock__:trial:x" "x"`,
		`1.4 [0 127.0.0.1:1] "SET" "the lock" "x" "NX" "PX" "1000"`,
	}
	require.NoError(t, checkGate(probed, "the lock"))
	require.Error(t, checkGate(append([]string{probed[4]}, probed[:4]...), "the lock"))
	require.Error(t, checkGate(append(probed[:5:5], strings.ReplaceAll(probed[4], ":1]", ":2]")), "the lock"), "another connection")
	require.Error(t, checkGate([]string{probed[1], probed[4]}, "the lock"), "no trial")
	pending := `1.15 [0 127.0.0.1:1] "EVALSHA" "abc" "1" "the lock" "x" "-"`
	require.NoError(t, checkGate([]string{probed[1], pending, probed[2], probed[4]}, "the lock"))
	require.Error(t, checkGate([]string{pending, probed[1], probed[2], probed[4]}, "the lock"))
	require.Error(t, checkGate(probed[:4], "the lock"), "nothing to check")
}

// monitored reads MONITOR's lines until a SET of a name with the text.
func monitored(t testing.TB, monitor wire, until string) (lines []string) {
	t.Helper()
	require.NoError(t, monitor.SetReadDeadline(time.Now().Add(20*time.Second)))
	for {
		line, err := monitor.ReadString('\n')
		require.NoError(t, err)
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "+")))
		if strings.Contains(line, `"SET"`) && strings.Contains(line, until) {
			return lines
		}
	}
}

// checkGate reads what a new process got and returns an error if a connection brought
// a call for a name before INFO, or made it grant a lock before the trial lock. Releases
// that are pending come in between.
func checkGate(lines []string, name string) error {
	infos, trials, grants := make(map[string]bool), make(map[string]bool), 0
	var from string // of the last command; what a script does comes after its call
	for _, line := range lines {
		source, command, _ := strings.Cut(line, "] ")
		if _, source, _ = strings.Cut(source, "["); !strings.HasSuffix(source, "lua") {
			from = source
		}
		verb, _, _ := strings.Cut(command, " ")
		switch {
		case verb == `"INFO"`:
			infos[from] = true
		case strings.Contains(command, "__muxlock__:trial:"):
			trials[from] = infos[from]
		case !strings.Contains(command, name) || verb == `"GET"` && source == from: // the test's own look
		case !infos[from]:
			return fmt.Errorf("connection %s was not probed before %s", from, command)
		case verb == `"SET"` && !trials[from]:
			return fmt.Errorf("connection %s was not admitted before %s", from, command)
		case verb == `"SET"`:
			grants++
		}
	}
	if grants == 0 {
		return errors.New("no grant was seen at all")
	}
	return nil
}

func TestUnfitMasterIsSetAsideWithItsCauseAndComesBackWhenFit(t *testing.T) {
	masters := redistest.MastersWith(t, 5, redisserver.Options{Args: []string{"--dbfilename", "dump.rdb"}}) // keeps their folders
	sick := masters[0]
	config := func(key, value string) { redistest.Command(t, sick, "CONFIG", "SET", key, value) }
	config("busy-reply-threshold", "1")
	dir := redistest.Command(t, sick, "CONFIG", "GET", "dir").([]any)[1].(string)
	dump := filepath.Join(dir, "dump.rdb")
	require.Contains(t, dir, "muxlock-redis-", "the test's own folder")

	for _, fault := range []struct {
		name, cause string
		inject      func(t *testing.T, link *faultconn.Link)
		cure        func(t *testing.T, link *faultconn.Link)
	}{
		{"NOREPLICAS", "NOREPLICAS",
			func(*testing.T, *faultconn.Link) { config("min-replicas-to-write", "1") },
			func(*testing.T, *faultconn.Link) { config("min-replicas-to-write", "0") }},
		{"OOM", "OOM",
			func(*testing.T, *faultconn.Link) { config("maxmemory", "1") },
			func(*testing.T, *faultconn.Link) { config("maxmemory", "0") }},
		{"BUSY", "BUSY",
			func(t *testing.T, _ *faultconn.Link) {
				w := dialWire(t, sick)
				w.send(t, `EVAL "while true do end" 0`)
				soon(t, func() bool { return strings.HasPrefix(dialWire(t, sick).do(t, "PING"), "-BUSY") })
			},
			func(t *testing.T, _ *faultconn.Link) {
				require.Equal(t, "+OK", dialWire(t, sick).do(t, "SCRIPT KILL"))
			}},
		{"MISCONF", "MISCONF",
			func(t *testing.T, _ *faultconn.Link) {
				require.NoError(t, os.Mkdir(dump, 0o700)) // a folder cannot be replaced by a file
				config("save", "3600 1")
				redistest.Command(t, sick, "BGSAVE")
				soon(t, func() bool { return strings.HasPrefix(dialWire(t, sick).do(t, "PING"), "-MISCONF") })
			},
			func(t *testing.T, _ *faultconn.Link) {
				require.NoError(t, os.Remove(dump))
				config("save", "")
			}},
		{"NOAUTH", "NOAUTH",
			func(t *testing.T, _ *faultconn.Link) {
				w := dialWire(t, sick)
				require.Equal(t, "+OK", w.do(t, "CONFIG SET requirepass new"))
				require.Equal(t, "+OK", w.do(t, "AUTH new"))
				require.Contains(t, w.do(t, "CLIENT KILL TYPE normal SKIPME yes"), ":")
			},
			func(t *testing.T, _ *faultconn.Link) {
				w := dialWire(t, sick)
				require.Equal(t, "+OK", w.do(t, "AUTH new"))
				require.Equal(t, "+OK", w.do(t, `CONFIG SET requirepass ""`))
			}},
		{"black hole", "timeout",
			func(_ *testing.T, link *faultconn.Link) { link.BlackHole(true) },
			func(_ *testing.T, link *faultconn.Link) { link.BlackHole(false) }},
		{"replies held back", "timeout",
			func(_ *testing.T, link *faultconn.Link) { link.HoldReplies(true) },
			func(_ *testing.T, link *faultconn.Link) { link.HoldReplies(false) }},
		{"late", "timeout",
			func(_ *testing.T, link *faultconn.Link) { link.Delay(5 * time.Second) },
			func(_ *testing.T, link *faultconn.Link) { link.Delay(0) }},
		{"cut and refused", "refused",
			func(_ *testing.T, link *faultconn.Link) { link.RefuseDials(true); link.Cut() },
			func(_ *testing.T, link *faultconn.Link) { link.RefuseDials(false) }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			e, links := bent(t, masters)
			fault.inject(t, links[0])
			cured := false
			defer func() {
				if !cured {
					fault.cure(t, links[0])
				}
			}()
			soon(t, func() bool {
				cycle(t, e, fmt.Sprint(t.Name(), time.Now().UnixNano()))
				return strings.Contains(strings.ToLower(cause(e, 0)), strings.ToLower(fault.cause))
			}, "set aside because of %s", fault.cause)
			t.Logf("cause: %s", cause(e, 0))
			for range 10 {
				cycle(t, e, t.Name())
			}
			require.Equal(t, 4, upMasters(e))
			require.Positive(t, e.Stats().Masters[0].SetAside)
			cured = true
			fault.cure(t, links[0])
			soon(t, func() bool { return upMasters(e) == 5 }, "comes back by itself")
			require.Empty(t, cause(e, 0))
			lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
			require.NoError(t, err)
			everywhere(t, masters, lock)
			require.NoError(t, lock.Release(t.Context()))
			redistest.Gone(t, masters, t.Name())
		})
	}
}

func TestCutConnectionsComeBackWhileTheOthersCarryOn(t *testing.T) {
	masters := redistest.Masters(t, 5)
	for _, fault := range []struct {
		name string
		cut  func(t *testing.T, link *faultconn.Link, master *redisserver.Server)
	}{
		{"CLIENT KILL", func(t *testing.T, _ *faultconn.Link, m *redisserver.Server) {
			require.Contains(t, dialWire(t, m).do(t, "CLIENT KILL TYPE normal SKIPME yes"), ":")
		}},
		{"reset", func(_ *testing.T, l *faultconn.Link, _ *redisserver.Server) { l.Cut() }},
		{"request lost", func(_ *testing.T, l *faultconn.Link, _ *redisserver.Server) { l.CutRequestsAfter(0) }},
		{"request in half", func(_ *testing.T, l *faultconn.Link, _ *redisserver.Server) { l.CutRequestsAfter(20) }},
		{"reply lost", func(_ *testing.T, l *faultconn.Link, _ *redisserver.Server) { l.CutRepliesAfter(0) }},
		{"reply in half", func(_ *testing.T, l *faultconn.Link, _ *redisserver.Server) { l.CutRepliesAfter(2) }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			e, links := bent(t, masters)
			fault.cut(t, links[0], masters[0])
			lock, err := e.TryAcquire(t.Context(), t.Name(), 25*time.Second)
			require.NoError(t, err)
			soon(t, func() bool { return back(e, 0, 0) })
			require.EqualValues(t, 1, setAside(e, 0))
			require.Equal(t, 2, links[0].Dials())
			require.NoError(t, lock.Release(t.Context()))
			redistest.Gone(t, masters, t.Name())
			for i := range 4 {
				require.Equal(t, 1, links[i+1].Dials(), "the others are not disturbed")
			}
		})
	}
}

func TestScriptFlushCostsNoCall(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	stop := make(chan struct{})
	var work sync.WaitGroup
	for i := range 32 {
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				lock, err := e.TryAcquire(context.Background(), fmt.Sprint(t.Name(), "/", i, "/", n), 0)
				if err == nil {
					err = lock.Extend(context.Background(), 20*time.Second)
				}
				if err == nil {
					err = lock.Release(context.Background())
				}
				if err != nil {
					t.Errorf("call failed: %v", err)
					return
				}
			}
		})
	}
	for range 20 {
		for _, m := range masters {
			redistest.Command(t, m, "SCRIPT", "FLUSH")
		}
	}
	close(stop)
	work.Wait()
	for _, m := range masters { // and in the plain commands of a lone caller
		redistest.Command(t, m, "SCRIPT", "FLUSH")
	}
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
	for _, m := range masters {
		redistest.Command(t, m, "SCRIPT", "FLUSH")
	}
	require.NoError(t, lock.Release(t.Context()))
	for _, m := range e.Stats().Masters {
		require.Zero(t, m.SetAside)
	}
	require.Positive(t, e.Stats().Acquired)
	soon(t, func() bool { return len(ownKeys(t, masters)) == 0 })
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

func TestGrantWhoseReplyWasLostIsReleased(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters)
	links[0].HoldReplies(true)
	lock, err := e.TryAcquire(t.Context(), t.Name(), 25*time.Second)
	require.NoError(t, err)
	everywhere(t, masters, lock) // executed on the first master too, which cannot say so
	links[0].RefuseDials(true)
	links[0].Cut()
	soon(t, func() bool { return upMasters(e) == 4 })
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters[1:], t.Name())
	require.Equal(t, lock.Reveal(), redistest.Get(t, masters[:1], t.Name())[0], "still there for now")
	links[0].HoldReplies(false)
	links[0].RefuseDials(false)
	redistest.Gone(t, masters, t.Name())
	soon(t, func() bool { return upMasters(e) == 5 && pendingReleases(e) == 0 })
	require.Equal(t, uint64(1), e.Stats().Masters[0].PendingDeleted)
}

// The bytes of an acquire may sit in a dead connection until after its master has been
// admitted again on a new one, and its first release has found nothing.
func TestRequestsThatArriveAfterTheReconnectionAreReleasedOnceMore(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	old, fresh := faultconn.NewLink(), faultconn.NewLink()
	t.Cleanup(old.Cut)
	t.Cleanup(fresh.Cut)
	dial := func(ctx context.Context, addr string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		if addr == masters[0].Addr() && old.Dials() == 0 {
			return old.Dial(ctx, addr, d, c)
		}
		return fresh.Dial(ctx, addr, d, c)
	}
	e := open(t, masters, func(c *Config) { c.Client.DialCtxFn = dial })
	old.OutliveClose(true)
	old.BlackHole(true)
	lock, err := e.TryAcquire(t.Context(), t.Name(), 25*time.Second)
	require.NoError(t, err)
	soon(t, func() bool { return back(e, 0, 0) }, "reconnected")
	require.NoError(t, lock.Release(t.Context()))
	require.Zero(t, e.Stats().Masters[0].PendingDeleted)
	require.Empty(t, redistest.Get(t, masters[:1], t.Name())[0])
	old.BlackHole(false)
	soon(t, func() bool { return redistest.Get(t, masters[:1], t.Name())[0] == lock.Reveal() }, "executed late")
	redistest.Gone(t, masters, t.Name())
	soon(t, func() bool { return pendingReleases(e) == 0 })
	require.Equal(t, uint64(1), e.Stats().Masters[0].PendingDeleted)
}

func TestLateMasterDoesNotDelayTheOthers(t *testing.T) {
	masters := five(t)
	e, links := bent(t, masters, masterTimeout(9*time.Second))
	for _, link := range links[:2] {
		link.HoldReplies(true)
	}
	for range 10 {
		cycle(t, e, t.Name())
	}
	require.Zero(t, setAside(e, 0)+setAside(e, 1), "they have yet to answer, and may")
	for _, link := range links[:2] {
		link.HoldReplies(false)
	}
	redistest.Gone(t, masters, t.Name())
	require.Equal(t, 5, upMasters(e))
}

// A quorum that comes too late to leave validity is no lock, and it is undone.
func TestQuorumThatComesTooLateIsExpiredAndUndone(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		const ttl = 300 * time.Millisecond
		edge := redlock.Validity(ttl, 0, redlock.DefaultDrift) // odd: the answer takes a nanosecond less
		s.set(func() { s.delay = edge })
		lock, err := e.TryAcquire(t.Context(), "name", ttl)
		require.NoError(t, err, "in time")
		require.Equal(t, time.Duration(1), time.Until(lock.Until()))
		require.NoError(t, lock.Release(t.Context()))
		s.set(func() { s.delay = edge + 1 })
		_, err = e.TryAcquire(t.Context(), "name", ttl)
		require.ErrorIs(t, err, ErrExpired)
		require.ErrorIs(t, err, ErrNotAcquired)
		require.EqualValues(t, 1, e.Stats().Expired)
		requireNothingLeft(t, e, s)
		require.Equal(t, []pipeline.Op{pipeline.Acquire, pipeline.Release, pipeline.Acquire, pipeline.Release}, s.ops())
	})
}

// Pending releases must be sent also while the master is never idle.
func TestPendingReleasesAreSentUnderConstantLoad(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters)
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for i := range 256 {
		load.Go(func() {
			for name := fmt.Sprint(t.Name(), "/", i); ctx.Err() == nil; {
				if lock, err := e.TryAcquire(context.Background(), name, 0); err == nil {
					lock.Release(context.Background())
				}
			}
		})
	}
	defer load.Wait()
	defer cancel()
	links[0].CutRepliesAfter(1000)
	soon(t, func() bool { return back(e, 0, 0) })
	soon(t, func() bool { return pendingReleases(e) == 0 }, "all are sent")
}
