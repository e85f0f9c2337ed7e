package engine

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/draw"
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
		seed := draw.Seed(t)
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

func TestPermitsAtHalfTheLoadTakeOneRoundTrip(t *testing.T) {
	c := crew{processes: 32, limit: 16, near: 100 * time.Microsecond, far: 300 * time.Microsecond, hold: 20 * time.Millisecond, idle: 60 * time.Millisecond}
	attempts, _ := c.run(t, 2*time.Second)
	require.Less(t, attempts, 1.1)
}

func TestPermitsAreUsedAtTwiceTheLoad(t *testing.T) {
	c := crew{processes: 32, limit: 16, near: 100 * time.Microsecond, far: 300 * time.Microsecond, hold: 20 * time.Millisecond}
	_, used := c.run(t, time.Second)
	require.Greater(t, used, 0.9)
}
