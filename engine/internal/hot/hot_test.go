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
		r, s, exact := rand.New(rand.NewPCG(seed, 1)), sketch{}, map[string]uint64{}
		sums, all := zipf(1500, 0.5+r.Float64()), uint64(0)
		for range 20_000 {
			name, n := fmt.Sprint(draw(r, sums)), r.Uint64N(5)
			s.add(name, n)
			exact[name] += n
			all += n
		}
		require.Len(t, s.at, Counters)
		for name, want := range exact {
			got := s.of(name)
			require.GreaterOrEqual(t, got.N, want, name)
			require.LessOrEqual(t, got.N-got.Over, want, name)
			if want > all/Counters {
				require.Contains(t, s.at, name, "seed %d", seed)
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
			s.Add(name, 1, now)
			exact[name]++
		}
		want := slices.SortedFunc(maps.Keys(exact), func(a, b string) int { return cmp.Compare(exact[b], exact[a]) })[:10]
		hottest := s.Hottest(now)
		require.Len(t, hottest, Shown)
		if slices.Equal(want, hottest[:10]) {
			right++
		}
	}
	t.Logf("%d of 10", right)
	require.GreaterOrEqual(t, right, 9)
}

func TestNamesOfTheLastMinutesAreShown(t *testing.T) {
	var s Names
	begin := clock.Now()
	at := func(minutes float64) clock.Instant {
		return begin.Add(time.Duration(minutes * float64(time.Minute)))
	}
	s.Add("old", 7, at(0))
	s.Add("both", 1, at(1))
	s.Add("both", 2, at(6))
	s.Add("late", 5, at(4)) // of a shard that was folded late
	require.Equal(t, []string{"old", "late", "both"}, s.Hottest(at(6)))
	require.Equal(t, Count{N: 3}, s.Of("both", at(6)))
	require.Equal(t, []string{"both"}, s.Hottest(at(10.5)), "counted since the fifth minute")
	require.Equal(t, Count{N: 2}, s.Of("both", at(10.5)))
	require.Zero(t, s.Of("both", at(39)))
	require.Empty(t, s.Hottest(at(40)))
	s.Add("new", 1, at(60))
	s.Add("long ago", 1, at(41)) // of a shard that nobody has used since
	require.Equal(t, []string{"new"}, s.Hottest(at(60)))
}
