package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// requireOneLine checks that an error matches all of wants and that its text is one line.
func requireOneLine(t *testing.T, err error, wants ...error) {
	t.Helper()
	for _, want := range wants {
		require.ErrorIs(t, err, want)
	}
	require.NotContains(t, err.Error(), "\n")
}

func TestErrorsOfCallsAreOneLine(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "lost", 0)
		require.NoError(t, lock.KeepAlive(0))
		s.set(func() { s.away = true })
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := e.Acquire(ctx, "other", 0)
		requireOneLine(t, err, ErrNoQuorum, ErrNotAcquired, context.DeadlineExceeded)
		_, err = e.TryAcquire(t.Context(), "lost", 0)
		requireOneLine(t, err, ErrTaken, ErrNotAcquired)
		time.Sleep(lease10)
		requireOneLine(t, lock.Err(), ErrLost, ErrExpired, ErrNoQuorum)
		requireOneLine(t, lock.Extend(ctx, 0), ErrLost, ErrExpired)
		s.set(func() { s.away = false })

		lock = mustAcquire(t, e, "unconfirmed", 0)
		s.set(func() { s.away = true })
		requireOneLine(t, lock.Release(ctx), ErrNoQuorum, context.DeadlineExceeded)
		require.EqualValues(t, 1, e.Stats().ReleasesUnconfirmed)
		s.set(func() { s.away = false })

		own := errors.New("the function's own")
		err = e.Do(t.Context(), "done", 0, func(ctx context.Context) error {
			s.drop("done")
			<-ctx.Done()
			return own
		})
		requireOneLine(t, err, own, ErrLost, ErrNotHeld)
		require.True(t, strings.HasPrefix(err.Error(), own.Error()+"; "), err)
		err = e.Do(t.Context(), "done", 0, func(context.Context) error { return own })
		require.Equal(t, own, err, "alone as it is")
	})
}
