package engine

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redisfake"
	"muxlock/internal/testing/faultconn"
)

// A crew is processes that take permits of one name in turn, each with paths of its own to five masters.
type crew struct {
	processes, limit int
	near, far        time.Duration // there; back takes none
	hold, idle       time.Duration // on average
}

// run returns how many requests for a permit there were for each that was had, and which share of the time of all permits,
// or of what the processes want of it, they were held.
func (c crew) run(t *testing.T, long time.Duration) (attempts, used float64) {
	if testing.Short() {
		t.Skip("simulates many processes")
	}
	synctest.Test(t, func(t *testing.T) {
		seed := rand.Uint64()
		t.Log("seed", seed)
		rng := rand.New(rand.NewPCG(seed, 0))
		engines := scattered(t, rng, c.processes, c.near, c.far)
		begun := time.Now()
		ctx, cancel := context.WithDeadline(t.Context(), begun.Add(long))
		defer cancel()
		var mu sync.Mutex
		var held time.Duration
		holders := 0
		var running sync.WaitGroup
		for i, e := range engines {
			rng := rand.New(rand.NewPCG(seed, uint64(i)+1))
			around := func(d time.Duration) time.Duration { return d/2 + time.Duration(rng.Int64N(int64(d)+1)) }
			running.Go(func() {
				for time.Sleep(around(c.idle)); ; time.Sleep(around(c.idle)) {
					lock, err := e.AcquirePermit(ctx, "name", c.limit, 3*time.Second)
					if err != nil {
						return
					}
					since := time.Now()
					mu.Lock()
					holders++
					assert.LessOrEqual(t, holders, c.limit)
					mu.Unlock()
					time.Sleep(around(c.hold))
					mu.Lock()
					holders--
					held += time.Since(since)
					mu.Unlock()
					_ = lock.Release(ctx)
				}
			})
		}
		running.Wait()
		var asked, acquired uint64
		for _, e := range engines {
			s := e.Stats()
			asked += s.Acquired + s.Taken + s.SplitVotes + s.NoQuorum + s.Expired
			acquired += s.Acquired
		}
		wanted := min(float64(c.limit), float64(c.processes)*float64(c.hold)/float64(c.hold+c.idle))
		attempts, used = float64(asked)/float64(acquired), float64(held)/float64(long)/wanted
		t.Logf("%d permits, %.2f attempts each, %.2f of the time", acquired, attempts, used)
	})
	return attempts, used
}

// scattered returns engines in a bubble, each with paths of its own to five masters: there they take from near to far, and
// back no time.
func scattered(t *testing.T, rng *rand.Rand, n int, near, far time.Duration) (engines []*Engine) {
	cfg := Config{Masters: make([]string, 5)}
	masters := make(map[string]*redisfake.Server)
	for i := range cfg.Masters {
		cfg.Masters[i] = fmt.Sprintf("192.0.2.%d:6379", i)
		masters[cfg.Masters[i]] = redisfake.New()
		t.Cleanup(masters[cfg.Masters[i]].Close)
	}
	for range n {
		paths := make(map[string]*faultconn.Link)
		for _, address := range cfg.Masters {
			paths[address] = faultconn.NewLink()
			paths[address].DelayRequests(near + time.Duration(rng.Int64N(int64(far-near)+1)))
		}
		cfg.Client = rueidis.ClientOption{DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
			conn, err := masters[address].Dial(ctx, address, d, c)
			if err != nil {
				return nil, err
			}
			return paths[address].Wrap(conn), nil
		}}
		e, err := New(t.Context(), cfg)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		engines = append(engines, e)
	}
	return engines
}

func TestPermitsAtHalfTheLoadTakeOneRoundTrip(t *testing.T) {
	c := crew{processes: 64, limit: 32, near: 100 * time.Microsecond, far: 300 * time.Microsecond, hold: 20 * time.Millisecond, idle: 60 * time.Millisecond}
	attempts, _ := c.run(t, 2*time.Second)
	require.Less(t, attempts, 1.1)
}

func TestPermitsAreUsedAtTwiceTheLoad(t *testing.T) {
	c := crew{processes: 64, limit: 32, near: 100 * time.Microsecond, far: 300 * time.Microsecond, hold: 20 * time.Millisecond}
	_, used := c.run(t, 2*time.Second)
	require.Greater(t, used, 0.9)
}
