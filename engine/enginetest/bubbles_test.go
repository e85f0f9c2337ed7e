package enginetest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/enginetest"
	"muxlock/internal/testing/await"
)

// What the engine keeps for all engines of a process (pools, what is known of the clocks) must
// not come from one bubble into another, where it would end the process, or a lease.
func TestBubblesAndRealTimeDoNotDisturbEachOther(t *testing.T) {
	for i := range 4 {
		t.Run(fmt.Sprint("bubble ", i), func(t *testing.T) {
			t.Parallel()
			for range 5 {
				synctest.Test(t, func(t *testing.T) {
					e := enginetest.New(t, engine.Config{})
					time.Sleep(time.Duration(i) * 20 * time.Second) // other times than the other bubbles have
					lock := mustAcquire(t, e.Engine, "name", 10*time.Second)
					contend(t, e.Engine)
					for range 9 {
						time.Sleep(time.Second)
						require.NoError(t, lock.Err())
					}
					time.Sleep(time.Second)
					require.ErrorIs(t, lock.Err(), engine.ErrExpired)
				})
			}
		})
	}
	t.Run("real time", func(t *testing.T) {
		t.Parallel()
		e := enginetest.New(t, engine.Config{MasterTimeout: await.Patience})
		for range 200 {
			contend(t, e.Engine)
		}
	})
}

func TestMeasuringDoesNotStopTheTimeOfABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{Measure: true})
		lock := mustAcquire(t, e.Engine, "name", 0)
		time.Sleep(3 * time.Second)
		require.NoError(t, lock.Release(t.Context()))
		require.Equal(t, 3*time.Second, e.Measured().Holds.Longest[0].Took)
	})
}

// contend has a few callers take one lock in turn.
func contend(t *testing.T, e *engine.Engine) {
	var callers sync.WaitGroup
	for range 5 {
		callers.Go(func() {
			assert.NoError(t, e.Do(within(t), "contended", 0, func(context.Context) error { return nil }))
		})
	}
	callers.Wait()
}
