package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestWhoWaitsInLineLearnsWhoHasTheNameAndHowManyAreBeforeIt(t *testing.T) {
	masters := redistest.Masters(t, 3)
	var engines []*Engine
	for _, holder := range []string{"pod-7", "pod-8", "pod-9"} {
		engines = append(engines, open(t, masters, func(c *Config) { c.Holder = holder }))
	}
	linesOf(t, engines...)
	lock, err := engines[0].Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make([]error, 3)
	done := make(chan int, 2)
	for i, e := range engines[1:] {
		go func() {
			_, errs[i+1] = e.Acquire(ctx, t.Name(), 0)
			done <- i
		}()
		await.Equal(t, int64(i)+1, func() any { return inLine(t, masters, t.Name()) }, "engine %d stands in line", i+1)
	}
	cancel()
	<-done
	<-done
	for i, err := range errs[1:] {
		var attempt *AttemptError
		require.ErrorAs(t, err, &attempt)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, []any{ErrTaken, "pod-7", i}, []any{attempt.Kind, attempt.Holder, attempt.InLine})
		require.Regexp(t, `^muxlock: lock is taken by pod-7(, and 1 in line before this one)?: of 3 masters`, err)
	}
	_, err = engines[1].TryAcquire(t.Context(), t.Name(), 0)
	require.Regexp(t, `^muxlock: lock is taken: of 3 masters 0 granted`, err, "a refusal does not say who holds the name")
	require.NoError(t, lock.Release(t.Context()))
}
