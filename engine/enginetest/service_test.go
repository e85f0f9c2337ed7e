package enginetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/enginetest"
)

// A reporter is a service as users write it: one process at a time makes the report.
type reporter struct {
	locks *engine.Engine
	made  int
}

func (r *reporter) run(ctx context.Context) error {
	return r.locks.Do(ctx, "report", 30*time.Second, func(ctx context.Context) error {
		select {
		case <-time.After(time.Minute): // the work
			r.made++
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

func TestReporterStopsWhenItsLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := enginetest.New(t, engine.Config{})
		service := &reporter{locks: locks.Engine}
		ended := make(chan error, 1)
		go func() { ended <- service.run(t.Context()) }()
		time.Sleep(time.Second) // it is at work by now
		locks.Lose("report")
		require.ErrorIs(t, <-ended, engine.ErrLost)
		require.Zero(t, service.made)
		require.NoError(t, service.run(t.Context()), "the next one is made")
	})
}
