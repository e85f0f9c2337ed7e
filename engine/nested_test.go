package engine

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An acquire under a ctx that holds its name waits for itself until its ctx ends.
func TestAnAcquireThatWaitsForItselfSaysSo(t *testing.T) {
	var log strings.Builder
	inBubble(t, func(t *testing.T, e *Engine, _ *scripted) {
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		nested := func(ctx context.Context, names ...string) error {
			if len(names) > 1 {
				_, err := e.AcquireAll(ctx, names, 0)
				return err
			}
			return e.Do(ctx, names[0], 0, func(context.Context) error { return nil })
		}
		require.NoError(t, e.Do(soon, "a", 0, func(ctx context.Context) error {
			return e.DoAll(ctx, []string{"b", "c"}, 0, func(ctx context.Context, _ *Set) error {
				for _, names := range [][]string{{"a"}, {"c", "a"}, {"d", "b"}} { // the second holds both
					err := nested(WithWait(ctx, time.Millisecond), names...)
					require.ErrorIs(t, err, ErrTaken, names)
					require.ErrorIs(t, err, errNested, names)
				}
				_, err := e.TryAcquire(ctx, "b", 0)
				require.ErrorIs(t, err, errNested)
				many := e.AcquireMany(ctx, []string{"d", "b"}, 0)
				require.NoError(t, many[0].Err)
				require.ErrorIs(t, many[1].Err, errNested)
				require.NoError(t, many[0].Lock.Release(ctx))

				// These are other locks, or do not wait for the ctx.
				require.NoError(t, nested(ctx, "d"))
				require.NoError(t, e.DoPermit(ctx, "a", 2, 0, func(context.Context) error { return nil }))
				_, err = e.TryAcquireShared(ctx, "a", 0)
				require.ErrorIs(t, err, ErrTaken)
				require.NotErrorIs(t, err, errNested)
				_, err = e.TryAcquire(t.Context(), "a", 0)
				require.NotErrorIs(t, err, errNested)
				return nil
			})
		}))
	}, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	require.Regexp(t, `^time=\S+ level=WARN msg="acquire waits for a lock that its own ctx holds" lock=a .*\n.* count=2 .*\n$`, log.String())
}
