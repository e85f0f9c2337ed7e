package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func hotOf(all []HotName) (names []string) {
	for _, n := range all {
		names = append(names, n.Name)
	}
	return names
}

func TestHotNamesAreThoseWaitedForAndThoseAcquired(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		for i := range 40 { // more than a shard keeps
			for range i + 1 {
				require.NoError(t, mustAcquire(t, e, fmt.Sprintf("n%02d", i), 0).Release(t.Context()))
			}
		}
		_, acquired := e.HotNames()
		require.Equal(t, []HotName{{Name: "n39", Acquires: 40, Waited: 40 * time.Millisecond}, {Name: "n38", Acquires: 39, Waited: 39 * time.Millisecond}}, acquired[:2])
		require.Len(t, acquired, 40)

		lock := mustAcquire(t, e, "name", 0)
		next := goAcquire(t.Context(), e, 0)
		time.Sleep(5 * time.Second)
		_, err := e.Acquire(WithWait(t.Context(), time.Second), "name", 0)
		require.ErrorIs(t, err, ErrTaken)
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, requireGot(t, next).Release(t.Context()))
		waited, _ := e.HotNames()
		require.Equal(t, "name", waited[0].Name)
		require.EqualValues(t, 2, waited[0].Acquires)
		require.InDelta(t, 7*time.Second, waited[0].Waited, float64(10*time.Millisecond))

		for range 3 {
			lock, err := e.AcquirePermit(t.Context(), "permits", 3, 0)
			require.NoError(t, err)
			defer lock.Release(t.Context())
		}
		readers := []*Lock{mustAcquireShared(t, e, "read", 0), mustAcquireShared(t, e, "read", 0)}
		require.Nil(t, e.ReleaseMany(t.Context(), readers))
		_, acquired = e.HotNames()
		require.Subset(t, hotOf(acquired), []string{"permits", "read"})
		require.NotContains(t, fmt.Sprint(acquired), "slot")

		time.Sleep(11 * time.Minute)
		require.NoError(t, mustAcquire(t, e, "late", 0).Release(t.Context()))
		_, acquired = e.HotNames()
		require.Equal(t, []string{"late"}, hotOf(acquired))
	}, func(c *Config) { c.Prefix = "of-a-test:" })
}

// A sweep drops what nobody uses, and forgets no count.
func TestNamesThatAreSweptStayHot(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		for i := range 20 * nameShards {
			require.NoError(t, mustAcquire(t, e, fmt.Sprint("once", i), 0).Release(t.Context()))
			if i%20 == 0 {
				require.NoError(t, mustAcquire(t, e, "hot", 0).Release(t.Context()))
			}
		}
		time.Sleep(sweepEvery)
		_, acquired := e.HotNames()
		require.Equal(t, "hot", acquired[0].Name)
		require.GreaterOrEqual(t, acquired[0].Acquires, uint64(nameShards))
		require.LessOrEqual(t, acquired[0].Acquires-acquired[0].AcquiresOver, uint64(nameShards))
	})
}

// A set waits for a name of another process, and is its only trace here. The name may be swept meanwhile.
func TestAWaitForANameThatWasSweptIsCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.keys["of-another"] = scriptedKey{token: ours, ends: time.Now().Add(time.Hour)} })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		go func() { time.Sleep(4500 * time.Millisecond); sweepAll(e) }()
		_, err := e.AcquireAll(ctx, []string{"of-another"}, 0)
		require.ErrorIs(t, err, ErrTaken)
		waited, _ := e.HotNames()
		require.Equal(t, []HotName{{Name: "of-another", Waited: 5 * time.Second}}, waited)
	})
}
