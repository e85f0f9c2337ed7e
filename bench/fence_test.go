package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// held is a hold of 1 ms from at, in ms.
type held struct {
	key   int
	at    int64
	fence uint64
}

func TestAuditSeesAFenceThatDoesNotGrow(t *testing.T) {
	for _, names := range []int{2, spreadNames + 1} {
		a := &audit{newTable(Config{Keys: names, Dist: Uniform()})}
		hold := func(h held, stale int64) {
			t.Helper()
			a.leave(h.key, a.enter(h.key, 1, h.at*ms, (h.at+10)*ms, h.fence, at(h.at*ms)), (h.at+1)*ms)
			require.Equal(t, stale, a.stale().Load())
		}
		hold(held{key: 0, at: 0, fence: 7}, 0)
		hold(held{key: 1, at: 1, fence: 3}, 0) // another name
		hold(held{key: 0, at: 2, fence: 8}, 0)
		hold(held{key: 0, at: 3, fence: 0}, 0) // has none
		hold(held{key: 0, at: 4, fence: 8}, 1) // equal
		hold(held{key: 0, at: 5, fence: 5}, 2)
		hold(held{key: 0, at: 6, fence: 6}, 2) // the hold before had a smaller one
		require.Zero(t, a.overlaps().Load())
	}
}

func TestAuditForgivesTheFenceOfAHolderThatSleptThroughItsLease(t *testing.T) {
	a := &audit{newTable(Config{Keys: 1, Dist: Uniform()})}
	stamp := a.enter(0, 2, 12*ms, 100*ms, 9, at(12*ms))
	a.leave(0, stamp, 13*ms)
	require.False(t, a.leave(0, a.enter(0, 1, 0, 10*ms, 8, at(20*ms)), 20*ms))
	require.Zero(t, a.stale().Load())
	a.enter(0, 3, 30*ms, 100*ms, 9, at(30*ms)) // the right one is remembered
	require.EqualValues(t, 1, a.stale().Load())
	require.Zero(t, a.overlaps().Load())
}

// fencedLeases is a correct lock with chosen fences. A tenth of its attempts needs a second trip.
type fencedLeases struct{ *leases }

func newFencedLeases(fence func(n uint64) uint64) fencedLeases {
	l := newLeases(1, 100*time.Microsecond)
	l.fence = fence
	return fencedLeases{l}
}

func (l fencedLeases) Counts() (c Counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, given := range l.given {
		c.FenceSecondTrips += given
	}
	c.FenceSecondTrips /= 10
	return c
}

func growing(n uint64) uint64 { return n }

func repeating(n uint64) uint64 { return n - n%20/19 } // the 18th again

func TestAuditOfARunComparesFences(t *testing.T) {
	cfg := Config{Workers: 4, Keys: 2, Dist: Uniform(), Duration: 400 * time.Millisecond, Warmup: 200 * time.Millisecond, TTL: time.Hour}
	share := 0.0
	for tries := 0; tries < 20 && math.Abs(share-0.1) > 0.03; tries++ { // a busy machine asks late for the trips so far
		r, err := Run(t.Context(), "leases", newFencedLeases(growing), cfg)
		require.NoError(t, err)
		require.False(t, r.Safety.Violated())
		require.Equal(t, r.Totals.Acquired, r.Totals.Fenced)
		share = float64(r.Totals.FenceSecondTrips) / float64(r.Totals.Fenced)
	}
	require.InDelta(t, 0.1, share, 0.03, "warm-up left out")

	r, err := Run(t.Context(), "leases", newFencedLeases(repeating), cfg)
	require.NoError(t, err)
	require.Zero(t, r.Safety.Overlaps)
	require.Positive(t, r.Safety.FenceViolations)
	require.True(t, r.Safety.Violated())

	r, err = Run(t.Context(), "leases", newLeases(1, 100*time.Microsecond), cfg)
	require.NoError(t, err)
	require.Zero(t, r.Totals.Fenced)
}

func TestPartsCompareFencesWithEachOther(t *testing.T) {
	// With one worker in each process that take turns, equal fences come from both processes.
	cfg := Config{Workers: 1, Procs: 2, Keys: 1, Dist: Uniform(), KeyPrefix: "k", Duration: 200 * time.Millisecond, TTL: time.Hour, History: 64}
	r := inParts(t, newFencedLeases(growing), cfg)
	require.Zero(t, r.Safety.FenceViolations)
	require.Equal(t, r.Totals.Acquired, r.Totals.Fenced)
	require.Empty(t, r.History)

	r = inParts(t, newFencedLeases(repeating), cfg)
	require.Zero(t, r.Safety.Overlaps)
	require.Positive(t, r.Safety.FenceViolations)
	i := slices.IndexFunc(r.History, func(e Event) bool { return e.Overlap })
	require.GreaterOrEqual(t, i, 0)
	require.True(t, slices.ContainsFunc(r.History, func(e Event) bool {
		return e.Kind == EventAcquired && e.Fence == r.History[i].Fence && e.ToNs < r.History[i].ToNs
	}), "the hold before")
}
