package groups

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
)

func TestABudgetForWaitingHoldsInAllGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		e, other := w.open(t, "ab", "abc"), w.open(t, "ab", "abc")
		const budget = 300 * time.Millisecond
		ctx := engine.WithWait(t.Context(), budget)
		for _, group := range []string{"a", "b", "ac"} { // the names of the last move
			name := nameIn(t, e, group, 0)
			require.NoError(t, e.Do(ctx, name, 0, func(ctx context.Context) error {
				time.Sleep(2 * budget)
				began := time.Now()
				err := other.Do(engine.WithWait(ctx, budget), name, 0, func(context.Context) error { return nil })
				require.ErrorIs(t, err, engine.ErrTaken, group)
				require.ErrorIs(t, err, context.DeadlineExceeded, group)
				require.Equal(t, budget, time.Since(began), group)
				return ctx.Err()
			}), group)
		}
	})
}
