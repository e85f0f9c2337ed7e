package redsync

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// mutex is one that is not connected to anything.
func mutex(options ...Option) *Mutex { return (&Redsync{}).NewMutex("name", options...) }

// bounded returns after how long the bound ends.
func bounded(t *testing.T, options ...Option) time.Duration {
	begin := time.Now()
	ctx, cancel := mutex(options...).bound(t.Context())
	defer cancel()
	<-ctx.Done()
	return time.Since(begin)
}

func TestLockWaitsAsLongAsRedsyncsTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const try = 400 * time.Millisecond // 5 % of 8 s
		require.Equal(t, 31*150*time.Millisecond+try, bounded(t))
		require.Equal(t, 3*time.Second+try, bounded(t, WithTries(4), WithRetryDelay(time.Second)))
		require.Equal(t, try, bounded(t, WithTries(1000), WithRetryDelay(0)))
		require.Equal(t, 31*time.Second+time.Second, bounded(t, WithExpiry(10*time.Second), WithTimeoutFactor(0.1), WithRetryDelay(time.Second)))
		require.Equal(t, 6*time.Second+try, bounded(t, WithTries(4), WithRetryDelayFunc(func(try int) time.Duration {
			return time.Duration(try) * time.Second
		})))
		require.Equal(t, try, bounded(t, WithTries(4), WithRetryDelayFunc(func(int) time.Duration { return -1 })))
	})
}

func TestVeryManyTriesAreForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, options := range [][]Option{
			{WithRetryDelay(time.Millisecond)},
			{WithRetryDelay(math.MaxInt64)},
			{WithRetryDelay(0)},
			{WithRetryDelayFunc(func(int) time.Duration { return 24 * time.Hour })},
		} {
			m := mutex(append(options, WithTries(math.MaxInt))...)
			ctx, cancel := m.bound(t.Context())
			time.Sleep(365 * 24 * time.Hour)
			require.NoError(t, ctx.Err())
			cancel()
		}
	})
}

func TestDelaysAreAskedForOnlyWhileLockWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0 // not guarded: no call overlaps the caller's
		m := mutex(WithRetryDelayFunc(func(int) time.Duration { asked++; return time.Second }))
		_, cancel := m.bound(t.Context())
		time.Sleep(2500 * time.Millisecond)
		cancel()
		require.Equal(t, 3, asked)
		time.Sleep(time.Minute)
		require.Equal(t, 3, asked)
	})
}

func TestNoDelayIsAskedForOnceLockHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asking atomic.Bool
		m := mutex(WithRetryDelayFunc(func(int) time.Duration {
			asking.Store(true)
			time.Sleep(time.Second)
			asking.Store(false)
			return time.Second
		}))
		_, cancel := m.bound(t.Context())
		time.Sleep(500 * time.Millisecond)
		require.True(t, asking.Load())
		cancel()
		require.False(t, asking.Load())
	})
}

func TestBoundEndsWithItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, options := range [][]Option{nil, {WithRetryDelayFunc(func(int) time.Duration { return time.Hour })}} {
			parent, end := context.WithCancel(t.Context())
			ctx, cancel := mutex(options...).bound(parent)
			end()
			<-ctx.Done()
			cancel()
		}
	})
}
