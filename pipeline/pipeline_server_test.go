package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// overServers starts a pipeline over real servers, each behind a link.
func overServers(t testing.TB, servers []*redisserver.Server, timeout time.Duration) (*Pipeline, []*faultconn.Link) {
	t.Helper()
	cfg := Config{Timeout: timeout, Queue: 1 << 14}
	var links []*faultconn.Link
	for _, s := range servers {
		link := faultconn.NewLink()
		links = append(links, link)
		cfg.Masters = append(cfg.Masters, Master{Address: s.Addr(), Option: rueidis.ClientOption{InitAddress: []string{s.Addr()}, DialCtxFn: link.Dial}})
	}
	p, err := New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p, links
}

// requireQuiet waits until nothing is under way or pending, and checks that no master holds a key.
func requireQuiet(t *testing.T, p *Pipeline, servers []*redisserver.Server) {
	t.Helper()
	var state Stats
	await.True(t, func() bool {
		state = p.Stats()
		return quiet(state)
	}, "%+v", &state)
	require.Empty(t, redistest.Keys(t, servers...))
}

func quiet(state Stats) bool {
	for _, m := range state.Masters {
		if !m.Up || m.PendingReleases > 0 || m.Backlog > 0 || m.InFlight > 0 {
			return false
		}
	}
	return state.Queued == 0
}

func TestStatsCountWhatTheSlowestMasterHasNotAnswered(t *testing.T) {
	servers := redistest.Masters(t, 3)
	p, links := overServers(t, servers, 10*time.Second)
	slowest := func() int { return p.Stats().Masters[2].InFlight }
	require.Zero(t, slowest())
	links[2].HoldReplies(true)
	release := p.mustTake(t, "a", hour)
	require.Equal(t, 1, slowest())
	require.False(t, quiet(p.Stats()))
	release() // waits behind the acquire, or goes out beside it
	state := p.Stats().Masters[2]
	require.Equal(t, 2, state.InFlight+state.Backlog, "the others have answered")
	links[2].HoldReplies(false)
	await.Equal(t, 0, func() any { return slowest() })
	requireQuiet(t, p, servers)
}

func TestNothingIsLostWhileConnectionsAreCut(t *testing.T) {
	seed := draw.Seed(t)
	servers := redistest.Masters(t, 5)
	p, links := overServers(t, servers, await.Patience)

	const workers, names, cycles = 200, 50, 30
	var held [names]atomic.Int32 // callers that believe they hold the name
	var requests, won atomic.Int64
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			for range cycles {
				n := rng.IntN(names)
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rng.IntN(50))*time.Millisecond)
				if rng.IntN(4) > 0 {
					cancel()
					ctx, cancel = context.Background(), func() {}
				}
				req := Request{Op: Acquire, Name: fmt.Sprint("name", n), Token: token.New(), TTL: hour}
				requests.Add(1)
				out, err := p.Do(ctx, req)
				cancel()
				if err != nil {
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					continue
				}
				if req.Op, req.Origin = Release, out.Origin; out.Verdict != quorum.Won {
					p.Post(req)
					continue
				}
				won.Add(1)
				assert.EqualValues(t, 1, held[n].Add(1), "two hold %s", req.Name)
				time.Sleep(time.Duration(rng.IntN(1000)) * time.Microsecond)
				held[n].Add(-1)
				requests.Add(1)
				_, err = p.Do(context.Background(), req)
				assert.NoError(t, err)
			}
		})
	}
	stop := make(chan struct{})
	cutter := side(func() {
		rng := rand.New(rand.NewPCG(seed, 1<<32))
		for {
			link := links[rng.IntN(len(links))]
			switch rng.IntN(3) {
			case 0:
				link.Cut()
			case 1:
				link.CutRepliesAfter(rng.IntN(500)) // executed, and the reply lost
			case 2:
				link.CutRequestsAfter(rng.IntN(2000)) // in the middle of a command
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(5+rng.IntN(30)) * time.Millisecond):
			}
		}
	})
	returned := make(chan struct{})
	go func() { running.Wait(); close(returned) }()
	select {
	case <-returned:
	case <-time.After(60 * time.Second):
		t.Fatalf("calls that never return: %+v", p.Stats())
	}
	close(stop)
	cutter()
	for _, link := range links {
		link.Cut() // and forget the cuts that were still to come
	}
	requireQuiet(t, p, servers)

	stats := p.Stats()
	aside := uint64(0)
	for _, m := range stats.Masters {
		aside += m.SetAside
	}
	t.Logf("%d requests in %d rounds, %d locks won, set aside %d times", stats.Requests, stats.Rounds, won.Load(), aside)
	require.Positive(t, won.Load())
	require.Positive(t, aside)
	require.GreaterOrEqual(t, stats.Requests, uint64(requests.Load())-workers*cycles, "those that were abandoned unsent are not counted")
	require.LessOrEqual(t, stats.Rounds, stats.Requests)
}

func TestQuietIsSeenNotToBe(t *testing.T) {
	servers := redistest.Masters(t, 1)
	p, _ := overServers(t, servers, await.Patience)
	p.mustTake(t, "left over", hour)
	require.Equal(t, []string{"left over"}, redistest.Keys(t, servers...), "a key that nobody released must be found")
}

func TestNamesAndTokensAreBytes(t *testing.T) {
	servers := redistest.Masters(t, 3)
	p, _ := overServers(t, servers, await.Patience)
	odd := []string{"nul\x00nul", "\r\n", "*1\r\n$4\r\nPING\r\n", "\xff\xfe", "{braces}", "-", "a", "1", "", " "}
	for turn := range 2 {
		var callers sync.WaitGroup
		for _, name := range odd { // alone, and folded with the others
			callers.Go(func() {
				req := Request{Op: Acquire, Name: name + "x", Token: fmt.Sprint(name, turn), TTL: hour} // a token is one acquire's
				for _, op := range []Op{Acquire, Extend, Release} {
					req.Op = op
					out, err := p.Do(context.Background(), req)
					assert.NoError(t, err)
					assert.Equal(t, quorum.Won, out.Verdict, "op %d of %q", op, name)
					if op == Acquire {
						req.Origin = out.Origin
					}
				}
			})
		}
		callers.Wait()
	}
	requireQuiet(t, p, servers)
}

func TestMasterRestartedEmptyIsAdmittedAgain(t *testing.T) {
	servers := redistest.Masters(t, 3)
	p, _ := overServers(t, servers, await.Patience)
	release := p.mustTake(t, "a", hour)
	require.NoError(t, servers[0].Kill())
	require.NoError(t, servers[0].Restart(t.Context()))
	await.True(t, func() bool { s := p.Stats().Masters[0]; return s.Up && s.SetAside > 0 })
	release()
	requireQuiet(t, p, servers)
}

func TestWrongPasswordForAMajorityIsAMisconfiguration(t *testing.T) {
	servers := redistest.MastersWith(t, 3, redisserver.Options{Password: "secret"})
	cfg := Config{Timeout: await.Patience, Queue: 10}
	for i, s := range servers {
		password := "wrong"
		if i == 0 {
			password = "secret"
		}
		cfg.Masters = append(cfg.Masters, Master{Address: s.Addr(), Option: rueidis.ClientOption{InitAddress: []string{s.Addr()}, Password: password}})
	}
	_, err := New(t.Context(), cfg)
	var start *StartError
	require.True(t, errors.As(err, &start))
	require.True(t, start.Misconfigured, "%v", err)
	require.NotContains(t, err.Error(), "wrong")
}
