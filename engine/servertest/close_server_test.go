package servertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/redistest"
)

func TestAnAcquireThatMeetsCloseAtAnyMomentLeavesNoKey(t *testing.T) {
	masters := redistest.Masters(t, 1)
	met := 0
	for i := range 200 {
		e := open(t, masters)
		ended := make(chan error)
		go func() {
			_, err := e.Acquire(context.Background(), fmt.Sprint(i), 0)
			ended <- err
		}()
		for begin := time.Now(); time.Since(begin) < time.Duration(i)*time.Microsecond; {
		}
		require.NoError(t, e.Close())
		if err := <-ended; err != nil {
			met++
			require.ErrorIs(t, err, engine.ErrClosed)
			require.Empty(t, redistest.Get(t, masters, fmt.Sprint(i))[0])
		}
	}
	t.Log(met, "of 200 met it")
}

func TestLocksThatCloseEndsAreHeardOfButCountAsNoLoss(t *testing.T) {
	var causes []error // written by the Observer, before Close returns
	e := open(t, five(t), func(c *engine.Config) {
		c.Observer = &engine.Observer{Lost: func(_ string, _ time.Duration, cause error) { causes = append(causes, cause) }}
	})
	for i := range 3 {
		_, err := e.Acquire(t.Context(), fmt.Sprint(t.Name(), i), 0)
		require.NoError(t, err)
	}
	require.NoError(t, e.Close())
	require.Zero(t, e.Stats().Lost, "a planned end is nothing to alert on")
	require.Len(t, causes, 3)
	require.ErrorIs(t, causes[0], engine.ErrClosed)
}
