package enginetest_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/enginetest"
)

// The times are those of the package comment.
func TestAHandOverInABubbleTakesWhatThePackageCommentSays(t *testing.T) {
	const hold = 100 * time.Millisecond
	for _, c := range []struct {
		engines []int           // of the callers, in the order in which they come
		late    []time.Duration // from a release to the next holder
	}{
		{[]int{0, 0}, []time.Duration{0}},
		{[]int{0, 1, 2, 1}, []time.Duration{time.Millisecond, 0, 0}},
		{[]int{0, 0, 1}, []time.Duration{0, 0}},
	} {
		for range 20 {
			synctest.Test(t, func(t *testing.T) {
				e := enginetest.New(t, engine.Config{})
				engines := []*engine.Engine{e.Engine, e.Open(t, engine.Config{}), e.Open(t, engine.Config{})}
				var held []time.Time // guarded by the lock
				var all sync.WaitGroup
				for place, i := range c.engines {
					all.Go(func() {
						time.Sleep(time.Duration(place) * hold / 10)
						assert.NoError(t, engines[i].Do(t.Context(), "name", 10*time.Second, func(context.Context) error {
							held = append(held, time.Now())
							time.Sleep(hold)
							return nil
						}))
					})
				}
				all.Wait()
				for i, late := range c.late {
					if took := held[i+1].Sub(held[i]) - hold; took < 10*time.Millisecond || took > 15*time.Millisecond || late > 0 { // else it was left open
						require.Equal(t, late, took, c.engines)
					}
				}
			})
		}
	}
}

// The rest of what an hour of a bubble costs follows from how often an engine asks its masters.
func TestAWaitingLeaderInABubbleAsksOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{})
		other := e.Open(t, engine.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		for _, locks := range []*engine.Engine{e.Engine, other} {
			go func() {
				_ = locks.Lead(ctx, "name", 10*time.Second, func(ctx context.Context, _ *engine.Lock) error {
					<-ctx.Done()
					return ctx.Err()
				})
			}()
			time.Sleep(time.Second)
		}
		before := other.Stats().Rounds
		time.Sleep(10 * time.Minute)
		require.InDelta(t, 600, other.Stats().Rounds-before, 150)
		cancel()
		time.Sleep(time.Second)
	})
}
