package servertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// keeping acquires a lock on all masters and keeps it alive.
func keeping(t *testing.T, e *engine.Engine, masters []*redisserver.Server, ttl time.Duration) *engine.Lock {
	t.Helper()
	lock, err := e.Acquire(t.Context(), t.Name(), ttl)
	require.NoError(t, err)
	require.NoError(t, lock.KeepAlive(0))
	everywhere(t, masters, lock)
	return lock
}

func TestFlushedMastersAreALossForAHolderThatIsKeptAlive(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	e := open(t, masters)
	lock := keeping(t, e, masters, 5*time.Second)
	for _, m := range masters {
		redistest.Command(t, m, "FLUSHALL")
	}
	<-lock.Done()
	require.ErrorIs(t, lock.Err(), engine.ErrLost)
	require.ErrorIs(t, lock.Err(), engine.ErrNotHeld)
	require.NotErrorIs(t, lock.Err(), engine.ErrExpired, "known before validity ran out")
	require.NoError(t, e.Close()) // what was under way is over
	require.Empty(t, redistest.Keys(t, masters...), "never set again")
	cycle(t, open(t, masters), t.Name())
}

func TestKeyDeletedOnAMajorityIsALossAndOnAMinorityIsHealed(t *testing.T) {
	t.Parallel()
	const ttl = 2 * await.Patience
	for deleted := 1; deleted <= 3; deleted++ {
		t.Run(fmt.Sprint(deleted), func(t *testing.T) {
			t.Parallel()
			masters := five(t)
			e := open(t, masters)
			lock := keeping(t, e, masters, ttl)
			first := lock.Until()
			for _, m := range masters[:deleted] {
				require.EqualValues(t, 1, redistest.Command(t, m, "DEL", t.Name()))
			}
			if deleted == 3 {
				<-lock.Done()
				require.ErrorIs(t, lock.Err(), engine.ErrNotHeld)
				require.NotErrorIs(t, lock.Err(), engine.ErrExpired, "known before validity ran out")
				redistest.Gone(t, masters, t.Name()) // on the minority too
				return
			}
			await.True(t, func() bool {
				has, of := lock.HeldOn()
				return has == of && !time.Now().Before(first)
			}, "healed, and renewed beyond its ttl")
			require.True(t, lock.Valid())
			everywhere(t, masters, lock)
			require.NoError(t, lock.Release(t.Context()))
			redistest.Gone(t, masters, t.Name())
		})
	}
}

func TestMasterStoppedForLongerThanTheLeaseHasTheLockAgain(t *testing.T) {
	const ttl = 2 * await.Patience
	t.Parallel()
	masters := redistest.Masters(t, 5)
	e := open(t, masters)
	lock := keeping(t, e, masters, ttl)
	require.NoError(t, masters[0].Pause())
	stopped := time.Now()
	await.True(t, func() bool { return upMasters(e) == 4 && time.Since(stopped) > ttl })
	require.True(t, lock.Valid())
	require.NoError(t, masters[0].Resume())
	await.Equal(t, 5, func() any { return upMasters(e) })
	await.True(t, func() bool { has, of := lock.HeldOn(); return has == of }, "healed at the one that is back")
	require.True(t, lock.Valid())
	everywhere(t, masters, lock)
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters, t.Name())
}
