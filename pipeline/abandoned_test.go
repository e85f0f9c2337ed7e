package pipeline

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/scripts"
)

func TestAbandonedAcquireInFlightIsFollowedByItsRelease(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Microsecond)
		defer cancel()
		start := time.Now()
		_, err := b.acquire(ctx, "a")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 500*time.Microsecond, time.Since(start))
		time.Sleep(testTimeout)
		b.requireNoKeys()
		for _, f := range b.fakes {
			cmds := f.commands("a")
			require.Len(t, cmds, 2, f.address)
			require.Equal(t, "SET", cmds[0].args[0])
			require.Equal(t, scripts.Release.SHA1, cmds[1].args[1])
		}
	})
}

func TestAcquireAbandonedBeforeItIsSentIsNeverSent(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		other := side(func() { b.mustAcquire("other") })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Microsecond)
		defer cancel()
		_, err := b.acquire(ctx, "a")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		other()
		b.cycle("later")
		for _, f := range b.fakes {
			require.Empty(t, f.commands("a"), f.address)
		}
	})
}

func TestReleaseGoesOnWithoutItsCaller(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		origin := b.mustAcquire("a").Origin
		other := side(func() { b.cycle("other") })
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := b.p.Do(ctx, releaseOf("a", origin)) // queued behind other
		require.ErrorIs(t, err, context.Canceled)
		other()
		time.Sleep(testTimeout)
		b.requireNoKeys()
	})
}
