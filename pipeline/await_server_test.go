package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/draw"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/token"
)

// longLease outlasts a test, so a waiter that sleeps through a release is noticed.
const longLease = 60 * time.Second

// waitLimit is how long a wake-up may take on a busy machine.
const waitLimit = 10 * time.Second

func (p *Pipeline) mustTake(t testing.TB, name string, ttl time.Duration) (release func()) {
	t.Helper()
	req := Request{Op: Acquire, Name: name, Token: token.New(), TTL: ttl}
	out, err := p.Do(context.Background(), req)
	require.NoError(t, err)
	require.Equal(t, quorum.Won, out.Verdict, "%+v", out)
	req.Op, req.Origin = Release, out.Origin
	return func() {
		out, err := p.Do(context.Background(), req)
		assert.NoError(t, err)
		assert.Equal(t, quorum.Won, out.Verdict, "%+v", out)
	}
}

// awaitAside starts Await; the channel gives the time at which it returned.
func awaitAside(t testing.TB, p *Pipeline, name string) <-chan time.Time {
	woken := make(chan time.Time, 1)
	go func() {
		assert.NoError(t, p.Await(t.Context(), name, longLease))
		woken <- time.Now()
	}()
	return woken
}

// untilArmed waits until n masters would push a change of each name.
func untilArmed(t testing.TB, p *Pipeline, n int, names ...string) {
	t.Helper()
	u, err := p.startWakeups()
	require.NoError(t, err)
	deadline := time.Now().Add(waitLimit)
	for {
		awaited := u.Awaited() // of all names at once: it takes as long for one
		late := slices.IndexFunc(names, func(name string) bool { return awaited[name] < n })
		if late < 0 {
			return
		}
		names = names[late:]
		if time.Now().After(deadline) {
			require.FailNow(t, "not armed", "%d masters for %q: %+v", awaited[names[0]], names[0], p.Stats())
		}
		time.Sleep(20 * time.Microsecond)
	}
}

func requireWakes(t testing.TB, p *Pipeline, woken <-chan time.Time) time.Time {
	t.Helper()
	select {
	case at := <-woken:
		return at
	case <-time.After(waitLimit):
		require.FailNow(t, "not woken", "%+v", p.Stats())
		return time.Time{}
	}
}

// wakeUps measures from before the release is sent until Await has returned.
func wakeUps(t testing.TB, p *Pipeline, rounds int) []time.Duration {
	took := make([]time.Duration, rounds)
	for n := range took {
		release := p.mustTake(t, "a", longLease)
		woken := awaitAside(t, p, "a")
		untilArmed(t, p, len(p.masters), "a")
		start := time.Now()
		release()
		took[n] = requireWakes(t, p, woken).Sub(start)
	}
	slices.Sort(took)
	return took
}

func TestAwaitIsWokenByARealRelease(t *testing.T) {
	p, _ := overServers(t, redistest.Masters(t, 5), await.Patience)
	took := wakeUps(t, p, 200)
	t.Logf("from before the release to the wake-up: p50 %v, p99 %v", took[100], took[198])
	require.Less(t, took[199], waitLimit)
	requireNothingAwaited(t, p)
}

// BenchmarkAwait measures from before a release is sent until a waiter has woken: to the masters,
// and back over the second connections.
//
//	go test -bench Await ./pipeline
func BenchmarkAwait(b *testing.B) {
	for _, masters := range []int{1, 3, 5} {
		b.Run(fmt.Sprintf("masters=%d", masters), func(b *testing.B) {
			p, _ := overBareServers(b, masters)
			took := wakeUps(b, p, 10)[:0]
			for b.Loop() {
				took = append(took, wakeUps(b, p, 1)...)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
			b.ReportMetric(0, "ns/op") // the set-up of a round is not the wake-up
		})
	}
}

// The alarm is early by the PTTL's way to the server (package wakeup). On a busy machine that has
// no bound. A waiter that wakes too soon reads again, and then it is early by that way only.
// TestAttemptAtTheAlarmComesNeitherEarlyNorLate has the exact rule, in a bubble.
func TestAwaitReturnsWhenARealLeaseRunsOut(t *testing.T) {
	const lease = 150 * time.Millisecond
	p, _ := overServers(t, redistest.Masters(t, 5), await.Patience)
	awaitAside(t, p, "warm-up") // the connections
	start := time.Now()
	p.mustTake(t, "a", lease)
	taken := time.Now()
	free := false
	for attempts := 1; !free; attempts++ {
		require.LessOrEqual(t, attempts, 10, "Await does not wait for the end of the lease")
		require.NoError(t, p.Await(t.Context(), "a", longLease))
		req := Request{Op: Acquire, Name: "a", Token: token.New(), TTL: longLease}
		out, err := p.Do(t.Context(), req)
		require.NoError(t, err)
		free = out.Verdict == quorum.Won
		t.Logf("attempt %d, %v after the lease: %+v", attempts, time.Since(taken)-lease, out.Tally)
		req.Op, req.Origin = Release, out.Origin // what a part of the masters has granted
		_, err = p.Do(t.Context(), req)
		require.NoError(t, err)
	}
	require.GreaterOrEqual(t, time.Since(start), lease-time.Millisecond)
	require.Less(t, time.Since(taken), lease+waitLimit)
}

func TestThousandNamesAreAllWoken(t *testing.T) {
	p, _ := overServers(t, redistest.Masters(t, 3), await.Patience)
	var names []string
	var releases []func()
	for n := range 1000 {
		names = append(names, fmt.Sprint("name", n, "\x00\r\n\xff"))
	}
	names = append(names, "\x00", "$5\r\nhello\r\n", string(make([]byte, 512)), "\xff\xfe", "a b", "é")
	for _, name := range names {
		releases = append(releases, p.mustTake(t, name, longLease))
	}
	var woken []<-chan time.Time
	for _, name := range names {
		woken = append(woken, awaitAside(t, p, name))
	}
	untilArmed(t, p, 3, names...)
	start := time.Now()
	var releasing sync.WaitGroup
	for _, release := range releases {
		releasing.Go(release)
	}
	for _, w := range woken {
		requireWakes(t, p, w)
	}
	t.Logf("all woken after %v", time.Since(start))
	releasing.Wait()
	requireNothingAwaited(t, p)
	require.GreaterOrEqual(t, p.Stats().Masters[0].Reads, uint64(len(names)))
}

func TestKilledTrackingConnectionsLoseNoWakeUp(t *testing.T) {
	servers := redistest.Masters(t, 5)
	p, _ := overServers(t, servers, await.Patience)
	for range 5 {
		release := p.mustTake(t, "a", longLease)
		woken := awaitAside(t, p, "a")
		untilArmed(t, p, 5, "a")
		// The server ends a connection after its answer, and the release comes on another.
		for _, s := range servers {
			for _, id := range trackingIDs(t, s) {
				redistest.Command(t, s, "CLIENT", "KILL", "ID", id)
			}
		}
		release()
		requireWakes(t, p, woken)
	}
}

func TestFlushWakes(t *testing.T) {
	servers := redistest.Masters(t, 3)
	p, _ := overServers(t, servers, await.Patience)
	p.mustTake(t, "a", longLease)
	woken := awaitAside(t, p, "a")
	untilArmed(t, p, 3, "a")
	for _, s := range servers[:2] {
		redistest.Command(t, s, "FLUSHALL")
	}
	requireWakes(t, p, woken)
}

func TestRestartedMastersAreReadAgain(t *testing.T) {
	servers := redistest.Masters(t, 3)
	p, _ := overServers(t, servers, await.Patience)
	p.mustTake(t, "a", longLease)
	woken := awaitAside(t, p, "a")
	untilArmed(t, p, 3, "a")
	for _, s := range servers[:2] {
		require.NoError(t, s.Kill())
		require.NoError(t, s.Restart(t.Context()))
	}
	requireWakes(t, p, woken)
}

// Locks need no tracking. A server may refuse it in each of these ways.
func TestAwaitPollsWhereTheServerRefusesTracking(t *testing.T) {
	for _, refusal := range []string{"ACL", "RESP2", "ACL of CACHING"} {
		t.Run(refusal, func(t *testing.T) {
			cfg := Config{Timeout: await.Patience, Queue: 1 << 10}
			for _, s := range redistest.Masters(t, 3) {
				option := rueidis.ClientOption{InitAddress: []string{s.Addr()}}
				rights := "-@all +hello +ping +info +script|load +evalsha +set +get +mget +del +pttl +pexpire"
				switch refusal {
				case "RESP2":
					option.AlwaysRESP2 = true
				case "ACL of CACHING":
					rights += " +client|tracking"
					fallthrough
				default:
					command := append([]string{"ACL", "SETUSER", "locks", "on", ">secret", "~*"}, strings.Fields(rights)...)
					redistest.Command(t, s, command...)
					option.Username, option.Password = "locks", "secret"
				}
				cfg.Masters = append(cfg.Masters, Master{Address: s.Addr(), Option: option})
			}
			p, err := New(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(p.Close)
			p.mustTake(t, "a", longLease)
			p.mustTake(t, "b", 300*time.Millisecond)
			start := time.Now()
			require.NoError(t, p.Await(t.Context(), "a", 100*time.Millisecond))
			require.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
			require.NoError(t, p.Await(t.Context(), "b", longLease), "the alarm is known without tracking")
			require.NoError(t, p.Await(t.Context(), "c", longLease), "so is what is free")
			require.Less(t, time.Since(start), waitLimit)
			for i := range cfg.Masters { // each Await ends with a quorum: a slow master may be read later
				await.True(t, func() bool { return p.Stats().Masters[i].Reads > 0 })
				require.False(t, p.Stats().Masters[i].Tracking)
				require.Zero(t, p.Stats().Masters[i].Pushes)
			}
		})
	}
}

// Only Await wakes the waiters, so one lost wake-up is a minute's wait.
func TestNoWakeUpIsLostWhileConnectionsAreCut(t *testing.T) {
	seed := draw.Seed(t)
	servers := redistest.Masters(t, 3)
	processes, links := make([]*Pipeline, 4), []*faultconn.Link(nil)
	for i := range processes {
		var own []*faultconn.Link
		processes[i], own = overServers(t, servers, await.Patience)
		links = append(links, own...)
	}
	const names, cutting = 3, 2 * time.Second
	start := time.Now()
	var holders [names]atomic.Int32
	var locks, woken atomic.Int64
	var running sync.WaitGroup
	for i, p := range processes {
		for n := range names {
			running.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(i*names+n)))
				name := fmt.Sprint("name", n)
				for time.Since(start) < cutting {
					req := Request{Op: Acquire, Name: name, Token: token.New(), TTL: longLease}
					out, err := p.Do(t.Context(), req)
					if !assert.NoError(t, err) {
						return
					}
					req.Op, req.Origin = Release, out.Origin
					if out.Verdict == quorum.Won {
						assert.EqualValues(t, 1, holders[n].Add(1), name)
						time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
						holders[n].Add(-1)
						locks.Add(1)
					}
					_, err = p.Do(t.Context(), req)
					assert.NoError(t, err)
					if out.Verdict == quorum.Won {
						continue
					}
					time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond) // split votes
					if !assert.NoError(t, p.Await(t.Context(), name, longLease)) {
						return
					}
					woken.Add(1)
				}
			})
		}
	}
	stop := make(chan struct{})
	cutter := side(func() {
		rng := rand.New(rand.NewPCG(seed, 1<<32))
		for time.Since(start) < cutting {
			link := links[rng.IntN(len(links))]
			switch rng.IntN(3) {
			case 0:
				link.Cut()
			case 1:
				link.CutRepliesAfter(rng.IntN(500))
			case 2:
				link.CutRequestsAfter(rng.IntN(2000))
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(5+rng.IntN(30)) * time.Millisecond):
			}
		}
	})
	finished := make(chan struct{})
	go func() { running.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(cutting + waitLimit):
		t.Errorf("a wake-up was lost")
		for _, p := range processes {
			t.Logf("%v awaited, %+v", p.wakeups.Awaited(), p.Stats())
		}
	}
	close(stop)
	cutter()
	dials := 0
	for _, link := range links {
		dials += link.Dials()
	}
	t.Logf("%d locks and %d wake-ups in %v, %d connections", locks.Load(), woken.Load(), time.Since(start), dials)
	require.Positive(t, woken.Load())
	<-finished
	for _, p := range processes {
		requireNothingAwaited(t, p)
	}
}

// trackingIDs returns the ids of a server's connections with tracking.
func trackingIDs(t *testing.T, s *redisserver.Server) (ids []string) {
	t.Helper()
	list := redistest.Command(t, s, "CLIENT", "LIST").(string)
	for line := range strings.Lines(list) {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		if strings.Contains(line, " flags=t ") {
			ids = append(ids, id)
		}
	}
	require.NotEmpty(t, ids)
	return ids
}

func TestFullTableOfARealServerIsReadRarely(t *testing.T) {
	const names = 300
	p, _ := overServers(t, redistest.MastersWith(t, 3, redisserver.Options{Args: []string{"--tracking-table-max-keys", "100"}}), await.Patience)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	var release func()
	for n := range names {
		name := fmt.Sprint("name", names-1-n)
		release = p.mustTake(t, name, longLease)
		waiting.Go(func() {
			for p.Await(ctx, name, longLease) == nil {
				time.Sleep(time.Millisecond)
			}
		})
	}
	reads := func() (n uint64) {
		for _, m := range p.Stats().Masters {
			n += m.Reads
		}
		return n
	}
	last := uint64(0)
	await.True(t, func() bool { // 20,000 reads a second by the pushes
		before := last
		last = reads()
		return before > 0 && last-before < 3*names
	})
	require.Greater(t, last, uint64(3*names))
	woken := awaitAside(t, p, "name0")
	release()
	requireWakes(t, p, woken)
	cancel()
	waiting.Wait()
}
