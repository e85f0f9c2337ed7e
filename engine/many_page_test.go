package engine_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/enginetest"
)

// The page is worked off as in the example of AcquireMany. It takes five times as long as a lease.
func TestNoRowOfAPageIsLostWhileThePageIsWorkedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(t, engine.Config{})
		other := e.Open(t, engine.Config{})
		ctx := t.Context()
		var rows []string
		for i := range 500 {
			rows = append(rows, fmt.Sprint("row/", i))
		}
		var page []*engine.Lock
		for _, r := range e.AcquireMany(ctx, rows, 10*time.Second) {
			require.NoError(t, r.Err)
			require.NoError(t, r.Lock.KeepAlive(0))
			page = append(page, r.Lock)
		}
		for i, lock := range page {
			held, cancel := lock.Context(ctx)
			time.Sleep(100 * time.Millisecond)
			require.NoError(t, held.Err(), rows[i])
			_, err := other.TryAcquire(ctx, page[len(page)-1].Name(), 0)
			require.ErrorIs(t, err, engine.ErrTaken, "the last row is still ours")
			cancel()
			require.NoError(t, lock.Release(context.WithoutCancel(ctx)), rows[i])
		}
		for _, err := range e.ReleaseMany(ctx, page) {
			require.ErrorIs(t, err, engine.ErrNotHeld, "nothing is left to release")
		}
		require.Zero(t, e.Stats().Lost)
	})
}
