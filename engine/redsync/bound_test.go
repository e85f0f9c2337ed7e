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

// bounded returns after how long the bound of so many tries ends.
func bounded(t *testing.T, tries int, options ...Option) time.Duration {
	begin := time.Now()
	ctx, cancel := mutex(options...).bound(t.Context(), tries)
	defer cancel()
	<-ctx.Done()
	return time.Since(begin)
}

func TestBoundWithoutACtxIsUpToAnEighthLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := new(timeouts)
		type key struct{}
		for i, d := range []time.Duration{time.Second, time.Second, time.Second, time.Hour, time.Millisecond, time.Second, time.Second} {
			begin := time.Now()
			ctx, end := all.bound(context.WithValue(context.Background(), key{}, i), d)
			require.Equal(t, i, ctx.Value(key{}))
			at, _ := ctx.Deadline()
			require.GreaterOrEqual(t, at.Sub(begin), d)
			require.LessOrEqual(t, at.Sub(begin), d+d/8)
			time.Sleep(d / 20)
			require.NoError(t, ctx.Err())
			if i > 4 {
				<-ctx.Done()
				require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
				require.Equal(t, at, time.Now())
			}
			end()
		}
	})
}

func TestCtxThatEndsSoonerIsTheBound(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bound, end := new(timeouts).bound(ctx, time.Hour)
	require.Equal(t, ctx, bound)
	end()
	require.NoError(t, ctx.Err())
	bound, end = new(timeouts).bound(ctx, time.Second)
	require.NotEqual(t, ctx, bound)
	end()
}

func TestLockWaitsAsLongAsRedsyncsTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const try = 400 * time.Millisecond // 5 % of 8 s
		require.Equal(t, 31*150*time.Millisecond+try, bounded(t, 32))
		require.Equal(t, try, bounded(t, 1))
		require.Equal(t, 3*time.Second+try, bounded(t, 4, WithRetryDelay(time.Second)))
		require.Equal(t, try, bounded(t, 1000, WithRetryDelay(0)))
		require.Equal(t, time.Second, bounded(t, 1, WithExpiry(10*time.Second), WithTimeoutFactor(0.1)))
		require.Equal(t, try+6*time.Second, bounded(t, 4, WithRetryDelayFunc(func(try int) time.Duration {
			return time.Duration(try) * time.Second
		})))
		require.Equal(t, try, bounded(t, 4, WithRetryDelayFunc(func(int) time.Duration { return -1 })))
		require.Equal(t, try, bounded(t, 1, WithRetryDelayFunc(func(int) time.Duration { panic("not asked") })))
	})
}

func TestVeryManyTriesAreForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, options := range [][]Option{
			{WithRetryDelay(time.Millisecond)},
			{WithRetryDelay(math.MaxInt64)},
			{WithRetryDelayFunc(func(int) time.Duration { return 24 * time.Hour })},
		} {
			m := mutex(options...)
			ctx, cancel := m.bound(t.Context(), math.MaxInt)
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
		ctx, cancel := m.bound(t.Context(), 32)
		time.Sleep(300 * time.Millisecond)
		cancel()
		require.Zero(t, asked, "the first try may take longer")
		require.Error(t, ctx.Err())

		_, cancel = m.bound(t.Context(), 32)
		time.Sleep(2 * time.Second)
		cancel()
		require.Equal(t, 2, asked)
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
		_, cancel := m.bound(t.Context(), 32)
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
			ctx, cancel := mutex(options...).bound(parent, 32)
			end()
			<-ctx.Done()
			cancel()
		}
	})
}
