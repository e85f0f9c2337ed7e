package sizing

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"muxlock/internal/quorum"
)

// enumerate adds up the probability of all outcomes that good accepts.
func enumerate(p []float64, good func(yes uint) bool) (sum float64) {
	for set := range uint(1) << len(p) {
		if !good(set) {
			continue
		}
		prob := 1.0
		for i, pi := range p {
			if set>>i&1 == 1 {
				prob *= pi
			} else {
				prob *= 1 - pi
			}
		}
		sum += prob
	}
	return sum
}

func TestQuorumOfMastersIsTheSumOverAllOutcomes(t *testing.T) {
	rng := seeded(1)
	for n := 1; n <= 9; n++ {
		for q := 1; q <= n; q++ {
			p := make([]float64, n)
			for i := range p {
				p[i] = rng.Float64()
			}
			atLeast := func(set uint) bool { return bits.OnesCount(set) >= q }
			require.InDelta(t, enumerate(p, atLeast), AtLeast(q, p), 1e-12)
		}
	}
	near(t, 9.85e-6, AtLeast(3, slices.Repeat([]float64{0.01}, 5)), 0.01)
}

// draw makes n rows of masters, each answer common + its own log-normal.
func draw(n, masters int, seed uint64, common float64) Rows {
	rng := seeded(seed)
	each := distuv.LogNormal{Mu: 0, Sigma: 1, Src: rng}
	rows := make(Rows, n)
	for i := range rows {
		c := common * rng.ExpFloat64()
		rows[i] = make([]float64, masters)
		for j := range rows[i] {
			rows[i][j] = c + each.Rand()
		}
	}
	return rows
}

func TestIndependentMastersAreForetoldFromEachOfThem(t *testing.T) {
	rows := draw(40_000, 5, 2, 0)
	each := distuv.LogNormal{Mu: 0, Sigma: 1}
	joint, failed := rows.QuorumTime(3)
	require.Zero(t, failed)
	// The third of five is a beta law of what each of them answers.
	percentile := func(p float64) float64 { return mathext.InvRegIncBeta(3, 3, p) }
	for _, p := range []float64{0.5, 0.9, 0.99} {
		want := each.Quantile(percentile(p))
		near(t, want, rows.Independent(p, 3), 0.03)
		near(t, want, joint.UpperQuantile(1-p), 0.05)
		near(t, 1, rows.Gap(p), 0.07)
	}
	require.True(t, math.IsInf(lossy(rows, 0.5).Independent(0.99, 3), 1))
	near(t, each.Quantile(percentile(0.9)/0.9), lossy(rows, 0.1).Independent(0.9, 3), 0.05)
	require.True(t, math.IsInf(Rows{}.Independent(0.9, 1), 1))
}

// lossy is rows with that part of the answers lost.
func lossy(rows Rows, part float64) Rows {
	rng := seeded(9)
	less := make(Rows, len(rows))
	for i, row := range rows {
		less[i] = slices.Clone(row)
		for j := range row {
			if rng.Float64() < part {
				less[i][j] = -1
			}
		}
	}
	return less
}

func TestACommonStallOpensTheGapOfIndependence(t *testing.T) {
	require.Greater(t, draw(20_000, 5, 3, 3).Gap(0.99), 1.3)
}

func TestFewerMastersAreAllSubsetsOfThem(t *testing.T) {
	rows := draw(300, 5, 4, 1)
	rows[7] = []float64{-1, 2, -1, 3, 4}
	rows[8] = []float64{-1, -1, -1, -1, 4}
	for n := 1; n <= 5; n++ {
		var all []float64
		subsets, lost := 0, 0
		for set := range uint(1) << 5 {
			if bits.OnesCount(set) != n {
				continue
			}
			subsets++
			for _, row := range rows {
				var got []float64
				for i, v := range row {
					if set>>i&1 == 1 && v >= 0 {
						got = append(got, v)
					}
				}
				slices.Sort(got)
				if len(got) < quorum.Size(n) {
					lost++
					continue
				}
				all = append(all, got[quorum.Size(n)-1])
			}
		}
		want := Samples(all, nil)
		got, failed := rows.Fewer(n)
		require.InDelta(t, float64(lost)/float64(subsets*len(rows)), failed, 1e-9, "n %d", n)
		for _, p := range []float64{0.9, 0.5, 0.1} {
			near(t, want.UpperQuantile(p), got.UpperQuantile(p), 0.01, "n %d p %v", n, p)
		}
	}
}

func TestMoreMastersKeepWhatIsCommon(t *testing.T) {
	big := draw(60_000, 7, 5, 0.3)
	small := make(Rows, len(big))
	for i := range big {
		small[i] = big[i][:5]
	}
	want, _ := big.QuorumTime(quorum.Size(7))
	got, failed := small.More(7, seeded(6))
	require.Zero(t, failed)
	for _, p := range []float64{0.5, 0.1} {
		near(t, want.UpperQuantile(p), got.UpperQuantile(p), 0.04, "p %v", p)
	}
	same, _ := small.More(5, seeded(7)) // resampling the present ones is no different
	five, _ := small.QuorumTime(3)
	near(t, five.UpperQuantile(0.1), same.UpperQuantile(0.1), 0.1)
}

func TestTimeoutsFailAsManyAttemptsAsRowsSay(t *testing.T) {
	rows := Rows{{1, 2, 3}, {1, 9, 8}, {-1, 2, -1}, {1, -1, 2}}
	for tau, want := range map[float64]int{3: 2, 8: 1, 2: 1 + 1, 1: 4} {
		require.Equal(t, want, late(rows, tau, 2), "tau %v", tau)
	}
	law, failed := rows.QuorumTime(2)
	require.InDelta(t, 0.25, failed, 1e-12)
	require.Equal(t, 8.0, law.Max())
	require.Equal(t, []float64{3, 9, math.Inf(1), math.Inf(1)}, rows.TimesOf([]int{1, 2}, 2))
	require.Len(t, NewRows([][]int64{{1, 2}, {3}}), 1)
}

func TestIndependentTimeoutsAreWhatHappens(t *testing.T) {
	rows := draw(200_000, 5, 8, 0)
	each := distuv.LogNormal{Mu: 0, Sigma: 1}
	near(t, AtLeast(3, slices.Repeat([]float64{each.Survival(2)}, 5)), float64(late(rows, 2, 3))/float64(len(rows)), 0.05)
}

// late is how many attempts do not reach q answers when each master may take tau.
func late(rows Rows, tau float64, q int) (n int) {
	for _, took := range rows.QuorumTimes(q) {
		if took > tau {
			n++
		}
	}
	return n
}

func TestOneIndependentMasterTakesAsLongAsItsAnswers(t *testing.T) {
	rows := Rows{{4}, {2}, {1}, {-1}}
	require.InDelta(t, 2, rows.Independent(0.5, 1), 0, "half of the attempts, the lost one included")
	require.InDelta(t, 4, rows.Independent(0.75, 1), 0)
	require.True(t, math.IsInf(rows.Independent(0.76, 1), 1))
}
