package result

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

// climbed climbs rates whose outcomes are known: m for missed, s for spoiled, f for too few operations, x for cut short, and met where
// nothing is said. It returns the tried rates in their order.
func climbed(rates []float64, outcomes map[float64]string) (HighestRate, []float64) {
	var tried []float64
	letters := map[string]Outcome{"": RateMet, "m": RateMissed, "s": RateSpoiled, "f": RateTooFew, "x": ""}
	return Climb("a", rates, func(rate float64) RateTried {
		tried = append(tried, rate)
		return RateTried{RatePerS: rate, Outcome: letters[outcomes[rate]]}
	}), tried
}

func TestAClimbEndsAtTheHighestRateInARow(t *testing.T) {
	rates := []float64{8000, 1000, 2000, 4000, 16000} // in any order
	up := []float64{1000, 2000, 4000, 8000, 16000}
	for name, c := range map[string]struct {
		outcomes map[float64]string
		tried    []float64
		rate     float64
		outcome  Outcome
	}{
		"all met":                          {nil, up, 16000, RateMet},
		"lowest missed":                    {map[float64]string{1000: "m", 2000: "m"}, up[:2], 0, RateMissed},
		"missed, then met":                 {map[float64]string{2000: "m", 1190: "m"}, append(up[:5:5], 1190), 1000, RateMet},
		"lowest missed, others met":        {map[float64]string{1000: "m"}, up, 0, RateMissed},
		"two misses in a row":              {map[float64]string{4000: "m", 8000: "m", 2380: "m"}, append(up[:4:4], 2380), 2000, RateMet},
		"one miss, spoiled, one miss":      {map[float64]string{4000: "m", 8000: "s", 16000: "m", 2380: "m"}, append(up[:5:5], 2380), 2000, RateMet},
		"refined once":                     {map[float64]string{4000: "m", 8000: "m"}, append(up[:4:4], 2380, 2830, 3360), 3360, RateMet},
		"refined to the first that missed": {map[float64]string{4000: "m", 8000: "m", 2830: "m"}, append(up[:4:4], 2380, 2830), 2380, RateMet},
		"last missed":                      {map[float64]string{16000: "m", 9510: "m"}, append(up[:5:5], 9510), 8000, RateMet},
		"two spoiled":                      {map[float64]string{1000: "s", 2000: "s"}, up[:2], 0, RateSpoiled},
		"two spoiled, met between":         {map[float64]string{2000: "s", 8000: "s"}, up[:4], 4000, RateSpoiled},
		"spoiled, too few":                 {map[float64]string{1000: "f", 2000: "s"}, up[:2], 0, RateSpoiled},
		"spoiled above":                    {map[float64]string{16000: "s"}, up, 8000, RateMet},
		"lowest spoiled":                   {map[float64]string{1000: "s"}, up, 16000, RateMet},
		"lowest spoiled, then missed":      {map[float64]string{1000: "f", 2000: "m", 4000: "m"}, up[:3], 0, RateSpoiled},
		"spoiled while refined":            {map[float64]string{4000: "m", 8000: "m", 2380: "s", 2830: "s"}, append(up[:4:4], 2380, 2830), 2000, RateSpoiled},
		"two spoiled after a miss":         {map[float64]string{2000: "m", 4000: "s", 8000: "s"}, up[:4], 1000, RateSpoiled},
		"cut short":                        {map[float64]string{4000: "x"}, up[:3], 2000, RateSpoiled},
		"cut while refined":                {map[float64]string{4000: "m", 8000: "m", 2380: "x"}, append(up[:4:4], 2380), 2000, RateSpoiled},
	} {
		h, tried := climbed(rates, c.outcomes)
		require.Equal(t, c.tried, tried, name)
		require.Equal(t, c.rate, h.RatePerS, name)
		require.Equal(t, c.outcome, h.Outcome(), name)
		require.Len(t, h.Rates, len(tried), name)
		require.True(t, slices.IsSortedFunc(h.Rates, func(a, b RateTried) int { return cmp.Compare(a.RatePerS, b.RatePerS) }), name)
	}
	h, _ := climbed(rates, map[float64]string{4000: "m", 8000: "m", 2830: "m"})
	_, next := h.Edge()
	require.EqualValues(t, 2830, next.RatePerS)
	h, _ = climbed([]float64{0.5, 1}, nil)
	require.Equal(t, RateMet, h.Outcome(), "a rate may be that low")
	_, next = h.Edge()
	require.Zero(t, next, "none is higher")
}

func TestSmallerStepsAreATenthToAFifth(t *testing.T) {
	require.Empty(t, between(1000, 1200))
	for high := 1210.0; high < 100_000; high *= 1.07 {
		last := 1000.0
		for _, rate := range append(between(1000, high), high) {
			require.InDelta(t, 1.15, rate/last, 0.06, high)
			last = rate
		}
	}
}

func TestTwoOfThreeRunsDecideOnARate(t *testing.T) {
	letters := map[rune]Outcome{'+': RateMet, '-': RateMissed, 's': RateSpoiled, 'f': RateTooFew}
	for runs, want := range map[string]Outcome{
		"+": "", "++": "", "--": "", "+++": RateMet, "-++": RateMet, "s++": RateMet, "--+": RateMissed, "s--": RateMissed, "ss+": RateSpoiled,
		"s-+": RateSpoiled, "f": RateTooFew, "++f": RateTooFew,
	} {
		tried := RateTried{}
		for i, run := range runs {
			require.Empty(t, tried.Outcome, runs)
			tried.Add(letters[run], i)
		}
		require.Equal(t, want, tried.Outcome, runs)
		require.Len(t, tried.Results, len(runs))
		require.Equal(t, strings.Count(runs, "+"), tried.Votes(RateMet), runs)
	}
	tried := RateTried{}
	tried.Add(RateTooFew, -1)
	require.Empty(t, tried.Results, "it was not made")
}

// judgedRate judges a run with that p99 of the response, p99 of the machine's stalls and number of operations.
func judgedRate(t *testing.T, p99, stall time.Duration, count int64, reasons ...bench.ReasonKind) Outcome {
	o, err := ParseObjective("response.p99<5ms")
	require.NoError(t, err)
	r := &bench.Result{Valid: bench.Valid{OK: true}}
	r.Latency[bench.ResponseTime] = &bench.Summary{Count: count, P: map[string]int64{"99": int64(p99)}}
	r.Client.Stall = &bench.Summary{Count: 300, P: map[string]int64{"99": int64(stall)}}
	for _, reason := range reasons {
		r.Invalidate(reason, "details")
	}
	return JudgeRate(r, []Objective{o})
}

func TestARunIsJudgedByItsObjectivesUnlessTheMachineSpoiledIt(t *testing.T) {
	const ms = time.Millisecond
	require.Equal(t, RateMet, judgedRate(t, 4*ms, 0, 2000))
	require.Equal(t, RateMissed, judgedRate(t, 6*ms, 0, 2000))
	require.Equal(t, RateTooFew, judgedRate(t, 4*ms, 0, 20))
	require.Equal(t, RateTooFew, judgedRate(t, 4*ms, 0, 20, bench.ReasonFew), "no fault of the rate")
	require.Equal(t, RateMissed, judgedRate(t, 4*ms, 0, 20, bench.ReasonFew, bench.ReasonRate), "it did not show its rate")
	require.Equal(t, RateMissed, judgedRate(t, 4*ms, 0, 2000, bench.ReasonBacklog))

	require.Equal(t, RateMet, judgedRate(t, 4*ms, 0, 2000, bench.ReasonGenerator), "in spite of the lag")
	require.Equal(t, RateSpoiled, judgedRate(t, 6*ms, 0, 2000, bench.ReasonGenerator))
	require.Equal(t, RateSpoiled, judgedRate(t, 6*ms, 0, 2000, bench.ReasonGenerator, bench.ReasonRate), "nor offered as it should have been")

	require.Equal(t, RateMet, judgedRate(t, 4*ms, 12*ms, 2000), "in spite of the stalls")
	require.Equal(t, RateSpoiled, judgedRate(t, 20*ms, 12*ms, 2000))
	require.Equal(t, RateSpoiled, judgedRate(t, 900*ms, 2000*ms, 2000, bench.ReasonRate, bench.ReasonBacklog))
	require.Equal(t, RateMissed, judgedRate(t, 900*ms, 12*ms, 2000, bench.ReasonRate), "the lock was far slower than that")
}

func TestAMachineStalledIfItsStallsAreMoreThanAMillisecondAndHalfOfTheTail(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, c := range []struct {
		p99, stall, count int64
		want              bool
	}{{20 * ms, 10 * ms, 9, false}, {20 * ms, 10*ms + 1, 9, true}, {ms, ms, 9, false}, {ms, ms + 1, 1, true}, {0, ms + 1, 0, false}} {
		r := &bench.Result{Client: bench.Client{Stall: &bench.Summary{P: map[string]int64{"99": c.stall}}}}
		r.Latency[bench.CycleTime] = &bench.Summary{Count: c.count, P: map[string]int64{"99": c.p99}}
		require.Equal(t, c.want, Stalled(r), c)
	}
}
