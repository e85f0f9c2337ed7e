package pipeline

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
)

// Callers leave as fast as the masters answer. A request whose caller leaves before the answer is
// work for nobody, and makes the next round late.
func TestOverloadedRoundLeavesOutThoseWhoLeaveBeforeItsAnswer(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		const each = 100 * time.Microsecond
		b.cost(each)
		all(3000, func(i int) { b.mustAcquire(fmt.Sprint("warm", i)) })
		const callers = 10_000
		var served atomic.Int32
		var running sync.WaitGroup
		for i := range callers {
			running.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*each)
				defer cancel()
				if _, err := b.acquire(ctx, fmt.Sprint("leaves", i)); err == nil {
					served.Add(1)
				}
			})
			synctest.Wait() // who leaves first stands in front
		}
		running.Wait()
		require.Greater(t, int(served.Load()), callers*7/10, "a quarter if they are not left out")
	})
}

// A refused caller must not stand in line at the mutex with the goroutines that serve.
func TestAcquireBeyondTheQueueIsRefusedWithoutTheMutex(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Queue = 2
		b.started()
		errs := make(chan error, 5)
		b.p.mu.Lock()
		for i := range 5 {
			go func() {
				_, err := b.acquire(context.Background(), fmt.Sprint("name", i))
				errs <- err
			}()
		}
		for range 3 {
			assert.ErrorIs(t, <-errs, ErrOverloaded)
		}
		b.p.mu.Unlock()
		for range 2 {
			require.NoError(t, <-errs)
		}
		require.EqualValues(t, 3, b.p.Stats().Overloaded)
	})
}

// The fastest masters decide a call. Far masters are no reason to leave it out.
func TestOverloadedRoundIsLateByTheQuorumsRoundTripNotByTheFarthest(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		for i, f := range b.fakes {
			f.set(func() {
				f.delay, f.cost = []time.Duration{100 * time.Microsecond, 40 * time.Millisecond}[i/3], 10*time.Microsecond
			})
		}
		b.startedAsMeasured()
		b.mustAcquire("warm")
		time.Sleep(300 * time.Millisecond) // the far ones have answered
		var served atomic.Int32
		all(5000, func(i int) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			if _, err := b.acquire(ctx, fmt.Sprint("name", i)); err == nil {
				served.Add(1)
			}
		})
		require.Greater(t, int(served.Load()), 1000, "of 2,000 that the near masters can serve")
	})
}

// undone is a ctx with a deadline that does not end.
type undone struct{ context.Context }

func (undone) Done() <-chan struct{} { return nil }
func (undone) Err() error            { return nil }

func TestDeadlineOfACtxThatDoesNotEndIsNoReasonToLeaveACallOut(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		b.cost(10 * time.Microsecond)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
		defer cancel()
		verdict := make(chan quorum.Verdict, 1)
		all(3_000, func(i int) {
			if i != 2_500 {
				b.mustAcquire(fmt.Sprint("name", i))
				return
			}
			go func() {
				out, err := b.acquire(undone{ctx}, "detached")
				assert.NoError(t, err)
				verdict <- out.Verdict
			}()
		})
		select {
		case v := <-verdict:
			require.Equal(t, quorum.Won, v)
		case <-time.After(time.Minute):
			require.Fail(t, "it was left out, and waits for the end of its ctx")
		}
	})
}
