package bench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWaitContextServesManyCallsUntilItRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		defer cancel()
		base := time.Now()
		c := newWaitCtx(parent, base, time.Second)
		for range 3 {
			now := int64(time.Since(base))
			c.arm(now)
			deadline, ok := c.Deadline()
			require.True(t, ok)
			require.Equal(t, time.Second, time.Until(deadline))
			time.Sleep(900 * time.Millisecond)
			require.NoError(t, c.Err())
			require.True(t, c.disarm())
		}
		time.Sleep(time.Hour)
		require.NoError(t, c.Err(), "not armed, never ends")

		c.arm(int64(time.Since(base)))
		derived, stop := context.WithTimeout(c, time.Minute)
		defer stop()
		begin := time.Now()
		<-derived.Done()
		require.Equal(t, time.Second, time.Since(begin))
		require.ErrorIs(t, c.Err(), context.DeadlineExceeded)
		require.ErrorIs(t, context.Cause(derived), context.DeadlineExceeded)
		require.False(t, c.disarm())
	})
}

func TestWaitContextEndsWithItsParent(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	c := newWaitCtx(parent, time.Now(), time.Hour)
	cancel()
	<-c.Done()
	require.ErrorIs(t, c.Err(), context.Canceled)
}
