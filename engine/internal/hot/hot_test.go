package hot

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
)

// draw returns the number of a name, by Zipf's law with exponent s.
func draw(r *rand.Rand, sums []float64) int {
	at, _ := slices.BinarySearch(sums, r.Float64()*sums[len(sums)-1])
	return at
}

func zipf(names int, s float64) (sums []float64) {
	total := 0.0
	for k := 1; k <= names; k++ {
		total += math.Pow(float64(k), -s)
		sums = append(sums, total)
	}
	return sums
}

func TestCountsAreNeverTooLowNorHigherThanTheySay(t *testing.T) {
	for seed := range uint64(8) {
		r, s, exact := rand.New(rand.NewPCG(seed, 1)), Sketch{}, map[string]uint64{}
		sums, all := zipf(1500, 0.5+r.Float64()), uint64(0)
		for range 20_000 {
			name, n := fmt.Sprint(draw(r, sums)), r.Uint64N(5)
			s.Add(name, n)
			exact[name] += n
			all += n
		}
		require.Len(t, s.byName, Counters)
		for name, want := range exact {
			got := s.Of(name)
			require.GreaterOrEqual(t, got.N, want, name)
			require.LessOrEqual(t, got.N-got.Over, want, name)
			if want > all/Counters {
				require.Contains(t, s.byName, name, "seed %d", seed)
			}
		}
	}
}

func TestTheTenHottestOfManyAreTheTrueTen(t *testing.T) {
	right := 0
	sums := zipf(10_000, 0.99)
	for seed := range uint64(10) {
		r, s, exact := rand.New(rand.NewPCG(seed, 2)), Names{}, map[string]int{}
		now := clock.Now()
		for range 30_000 {
			name := fmt.Sprint(draw(r, sums))
			s.Add(name, 1, time.Microsecond, now)
			exact[name]++
		}
		want := slices.SortedFunc(maps.Keys(exact), func(a, b string) int { return cmp.Compare(exact[b], exact[a]) })[:10]
		waited, acquired := s.Hottest(now)
		require.Len(t, acquired, Shown)
		if slices.Equal(want, names(acquired)[:10]) && slices.Equal(want, names(waited)[:10]) {
			right++
		}
	}
	t.Logf("%d of 10", right)
	require.GreaterOrEqual(t, right, 9)
}

func names(all []Name) (names []string) {
	for _, n := range all {
		names = append(names, n.Acquires.Name)
	}
	return names
}

func TestNamesOfTheLastMinutesAreShown(t *testing.T) {
	var s Names
	begin := clock.Now()
	at := func(minutes float64) clock.Instant {
		return begin.Add(time.Duration(minutes * float64(time.Minute)))
	}
	s.Add("old", 7, 0, at(0))
	s.Add("both", 1, time.Second, at(1))
	s.Add("both", 2, time.Second, at(6))
	s.Add("late", 5, 0, at(4)) // of a shard that was folded late
	waited, acquired := s.Hottest(at(6))
	require.Equal(t, []string{"old", "late", "both"}, names(acquired))
	require.Equal(t, []string{"both"}, names(waited))
	require.Equal(t, []uint64{3, 2e9}, []uint64{acquired[2].Acquires.N, waited[0].Waited.N})
	_, acquired = s.Hottest(at(10.5))
	require.Equal(t, []string{"both"}, names(acquired), "counted since the fifth minute")
	_, acquired = s.Hottest(at(40))
	require.Empty(t, acquired)
	s.Add("new", 1, 0, at(60))
	s.Add("long ago", 1, 0, at(41)) // of a shard that nobody has used since
	_, acquired = s.Hottest(at(60))
	require.Equal(t, []string{"new"}, names(acquired))
}
