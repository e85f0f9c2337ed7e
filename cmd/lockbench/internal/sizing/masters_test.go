package sizing

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
)

// Every outcome of every zone and every master, one after the other.
func TestUnavailabilityIsTheSumOverAllOutcomesOfZonesAndMasters(t *testing.T) {
	rng := seeded(20)
	for _, zones := range [][]int{{1}, {3}, {2, 1}, {1, 1, 1}, {5}, {3, 2}, {2, 2, 1}, {4, 3, 2}, {1, 0, 3}} {
		n := 0
		var zoneOf []int
		for z, in := range zones {
			n += in
			zoneOf = append(zoneOf, slices.Repeat([]int{z}, in)...)
		}
		for q := range n + 2 {
			master, zone := rng.Float64(), rng.Float64()
			p := append(slices.Repeat([]float64{zone}, len(zones)), slices.Repeat([]float64{master}, n)...)
			few := func(up uint) bool {
				count := 0
				for i, z := range zoneOf {
					if up>>z&1 == 1 && up>>(len(zones)+i)&1 == 1 {
						count++
					}
				}
				return count < q
			}
			require.InDelta(t, enumerate(p, few), Unavailable(zones, q, master, zone), 1e-12, "%v q %d", zones, q)
		}
	}
}

func TestUnavailabilityIsExactHoweverSmall(t *testing.T) {
	const down = 1e-6
	near(t, 10*math.Pow(down, 3), Unavailable([]int{5}, 3, 1-down, 1), 1e-4)
	near(t, 3*math.Pow(down, 2), Unavailable([]int{1, 1, 1}, 2, 1, 1-down), 1e-4)
	near(t, down, Unavailable([]int{5}, 3, 1, 1-down), 1e-4, "all in one zone go with it")
	near(t, down, Unavailable([]int{3, 2}, 3, 1, 1-down), 1e-4, "two zones are no better than one")
}

func TestASpreadIsEvenAndSurvivesAZoneFromThreeOn(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for zones := 1; zones <= n; zones++ {
			spread := EvenSpread(n, zones)
			sum := 0
			survives := true
			for _, in := range spread {
				sum += in
				survives = survives && n-in >= quorum.Size(n)
			}
			require.Equal(t, n, sum)
			require.Len(t, spread, zones)
			require.LessOrEqual(t, slices.Max(spread)-slices.Min(spread), 1)
			require.Equal(t, survives, SurvivesZone(spread), "%v", spread)
			if n > 2 && n%2 == 1 {
				require.Equal(t, zones >= 3, SurvivesZone(spread), "%v", spread)
			}
		}
	}
}

// apart is rows of masters of which some are often far, some sometimes, and some lost.
func apart(seed uint64) Rows {
	rows := draw(400, 5, seed, 0.5)
	rng := seeded(seed + 100)
	for _, row := range rows {
		for i := range row {
			row[i] *= 1 + float64(i)*rng.Float64()
			if rng.IntN(300) == 0 {
				row[i] = -1
			}
		}
	}
	return rows
}

func TestTheFastestSetIsTheBestOfAllThatFit(t *testing.T) {
	for seed := range uint64(5) {
		rows := apart(seed)
		for n := 1; n <= 5; n++ {
			fits := func(set []int) bool { return n == 5 || !slices.Contains(set, int(seed)) }
			best, least := []int(nil), [2]float64{math.Inf(1), math.Inf(1)}
			for mask := range uint(1) << 5 {
				var set []int
				for i := range 5 {
					if mask>>i&1 == 1 {
						set = append(set, i)
					}
				}
				if bits.OnesCount(mask) != n || !fits(set) {
					continue
				}
				var times []float64
				for _, row := range rows {
					var got []float64
					for _, i := range set {
						if row[i] >= 0 {
							got = append(got, row[i])
						}
					}
					slices.Sort(got)
					times = append(times, math.Inf(1))
					if q := quorum.Size(n); len(got) >= q {
						times[len(times)-1] = got[q-1]
					}
				}
				slices.Sort(times)
				if of := [2]float64{times[395], rows.OneDown(set)}; best == nil || slices.Compare(of[:], least[:]) < 0 {
					best, least = set, of
				}
			}
			require.Equal(t, best, rows.Fastest(n, fits), "n %d", n)
		}
	}
	same := slices.Repeat(Rows{{9, 1, 8, 2, 3}}, 100)
	require.Equal(t, []int{1, 3, 4}, same.Fastest(3, func([]int) bool { return true }), "the third counts when one is down")
	require.Nil(t, apart(1).Fastest(3, func([]int) bool { return false }))
}

func TestOfManyMastersTheFastOnesAreCombined(t *testing.T) {
	rows := make(Rows, 50)
	for i := range rows {
		for m := range 99 {
			rows[i] = append(rows[i], float64((m+50)%99)) // 49 is the fastest, then 50 and on
		}
	}
	require.Equal(t, []int{49, 50, 51}, rows.Fastest(3, func([]int) bool { return true })[:3])
}

func TestWithoutTheMasterThatIsMissedMost(t *testing.T) {
	rows := make(Rows, 100)
	for i := range rows {
		rows[i] = []float64{1, 2, 30}
	}
	require.Equal(t, 30.0, rows.OneDown([]int{0, 1, 2}))
	require.True(t, math.IsInf(rows.OneDown([]int{0, 1}), 1), "one of two is no quorum")
	require.True(t, math.IsInf(rows.OneDown([]int{0}), 1))
	rows = apart(9)
	var each []float64
	for i := range 5 {
		each = append(each, QuantileOf(rows.TimesOf(slices.Delete(FirstN(5), i, i+1), 3), 0.99))
	}
	require.Equal(t, slices.Max(each), rows.OneDown([]int{0, 1, 2, 3, 4}))
	require.Less(t, each[4], slices.Max(each), "nobody waits for the farthest")
}

func TestAQuantileOfTimesCountsThoseThatNeverCame(t *testing.T) {
	times := []float64{5, 1, math.Inf(1), 2}
	require.Equal(t, 1.0, QuantileOf(times, 0.25))
	require.Equal(t, 2.0, QuantileOf(times, 0.5))
	require.Equal(t, 5.0, QuantileOf(times, 0.75))
	require.True(t, math.IsInf(QuantileOf(times, 0.76), 1))
	require.Equal(t, 1.0, QuantileOf(times, 0))
}
