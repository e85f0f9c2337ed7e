package sizing

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func TestAHoldThatIsGivenHasTheQuantileOfItsLaw(t *testing.T) {
	for _, c := range []struct {
		hold         bench.Span
		beyond, took float64 // in ms
		share        float64
	}{
		{bench.Fixed(100 * ms), 0.01, 100, 0},
		{bench.Exp(100 * ms), 0.01, 100 * math.Log(100), 0.01},
		{bench.Lognormal(100*ms, 0.5), 0.01, 100 * math.Exp(0.5*2.3263478740), 0.01},
		{bench.Lognormal(100*ms, 0), 0.01, 100, 0.01},
		{bench.Exp(100 * ms), 0, math.MaxInt64 / 4 / 1e6, 0},
	} {
		p := given(c.hold, c.beyond)
		require.InEpsilon(t, c.took*1e6, float64(p.Took), 1e-6, c.hold)
		require.Equal(t, Part{Took: p.Took, From: Asked, Beyond: c.share, AtMost: c.share, Longest: p.Took}, p)
	}
}

func TestHoldIsGivenOrSampledOrMeasuredOrAssumed(t *testing.T) {
	var samples []time.Duration
	for i := range 100 {
		samples = append(samples, time.Duration(i+1)*ms)
	}
	sampled, err := bench.Sampled("file", samples)
	require.NoError(t, err)
	fixed := bench.Fixed(2 * time.Second)
	m := Measured{Holds: Count(samples[:50], nil, 1)}
	for what, c := range map[string]struct {
		m          Measured
		ask        Ask
		took, mean time.Duration
		from       From
		longest    time.Duration
		atMost     float64
	}{
		"given":    {m, Ask{Hold: &fixed}, 2 * time.Second, 2 * time.Second, Asked, 2 * time.Second, 0},
		"sampled":  {m, Ask{Hold: &sampled, Eps: 0.1}, 90 * ms, 50*ms + ms/2, Asked, 100 * ms, AtMost(10, 100)},
		"measured": {m, Ask{Eps: 0.2}, 41 * ms, 1325 * ms / 51, Seen, 50 * ms, AtMost(10, 51)},
		"cut off":  {m, Ask{Eps: 0.1}, 50 * ms, 1325 * ms / 51, Seen, 50 * ms, AtMost(1, 51)},
		"assumed":  {Measured{}, Ask{}, time.Second, time.Second, Assumed, time.Second, 0},
	} {
		p, mean := c.m.hold(c.ask)
		require.Equal(t, c.took, p.Took, what)
		require.Equal(t, c.mean, mean, what)
		require.Equal(t, c.from, p.From, what)
		require.Equal(t, c.longest, p.Longest, what)
		require.Equal(t, c.atMost, p.AtMost, what)
	}
}

func TestMeasurementIsSummarizedByKindsThatHaveTimes(t *testing.T) {
	m := Measured{
		Masters: 3, Holds: Count([]time.Duration{1, 2, 3, 4}, nil, 0), Acquires: Count([]time.Duration{5, 6}, []int64{199, 1}, 300),
		Rounds: []Round{{Trips: []time.Duration{1, 7, -1}}, {Trips: []time.Duration{1, -1, -1}}},
	}
	require.Equal(t, []Input{
		{Name: "quorum of round trips", N: 2, Censored: 1, P50: 7, P99: 7, Longest: 7},
		{Name: "acquire", N: 500, Censored: 300, P50: 6, P99: 6, Longest: 6},
		{Name: "hold", N: 4, P50: 2, P99: 4, Longest: 4},
	}, m.inputs())
	require.Equal(t, []Input{{Name: "longest pauses", N: 2, P50: 1, P99: 9, Longest: 9}}, Measured{Pauses: []Moment{{0, 9}, {1, 1}}}.inputs())
	require.Len(t, Measured{Pauses: []Moment{{0, 9}}}.inputs(), 1)
	require.Equal(t, []Input{}, Measured{}.inputs())
}

func TestSizesAreRoundedToTwoDigitsAndFromTenMillisecondsOnToWholeOnes(t *testing.T) {
	for _, c := range []struct{ d, up, down time.Duration }{
		{0, 0, 0}, {1, 1, 0}, {9, 9, 0}, {99, 99, 0}, {101, 110, 0}, {1_010_000, 1_100_000, ms}, {9_990_000, 10 * ms, 9 * ms},
		{10*ms + 1, 11 * ms, 10 * ms}, {99*ms + 1, 100 * ms, 99 * ms}, {100 * ms, 100 * ms, 100 * ms}, {101 * ms, 110 * ms, 100 * ms},
		{1234 * ms, 1300 * ms, 1200 * ms}, {-5 * ms, -5 * ms, 0},
	} {
		if c.d >= 0 {
			require.Equal(t, c.up, RoundUp(c.d), c.d)
		}
		require.Equal(t, c.down, roundDown(c.d), c.d)
	}
}

func TestFarthestQuantileIsTheOneThatTenSamplesLieBeyond(t *testing.T) {
	for _, c := range []struct {
		n      int
		beyond float64
		took   time.Duration
	}{{99, 0, 99}, {100, 0.1, 90}, {999, 0.1, 900}, {1000, 0.01, 990}, {9999, 0.01, 9900}, {10_000, 0.001, 9990}} {
		took := make([]time.Duration, c.n)
		for i := range took {
			took[i] = time.Duration(i + 1)
		}
		p := farthest(Count(took, nil, 0))
		require.Equal(t, Part{Took: c.took, From: Seen, N: int64(c.n), Beyond: c.beyond, AtMost: p.AtMost, Longest: time.Duration(c.n)}, p)
		require.Equal(t, c.beyond == 0, p.AtMost == 1)
		if c.n == 1000 {
			few := farthest(Count(took, nil, 30))
			require.EqualValues(t, 1000, few.Took, "a p99 had no end")
			require.Equal(t, 30.0/1030, few.Beyond, "so it is a p97")
		}
		cut := farthest(Count(took, nil, int64(c.n)))
		require.GreaterOrEqual(t, cut.AtMost, 0.5, "half of them outlived the measurement")
	}
}

func TestRedrawnRoundsAreWholeBlocks(t *testing.T) {
	times := Count([]time.Duration{1, 2}, []int64{200, 200}, 0)
	m := Measured{Masters: 1, Watched: 400, Acquires: times, Holds: times}
	for i := range 400 {
		m.Rounds = append(m.Rounds, Round{At: time.Duration(i), Trips: []time.Duration{time.Duration(i)}})
	}
	r := m.redrawn(rand.New(rand.NewPCG(9, 9)))
	require.NotEqual(t, m.Acquires, r.Acquires)
	require.NotEqual(t, m.Holds, r.Holds)
	require.Len(t, r.Rounds, 400)
	blocks := make(map[time.Duration]bool)
	for i, round := range r.Rounds {
		require.Equal(t, time.Duration(i), round.At)
		require.Equal(t, time.Duration(i%10), round.Trips[0]%10)
		require.Equal(t, r.Rounds[i/10*10].Trips[0]/10, round.Trips[0]/10)
		blocks[round.Trips[0]/10] = true
	}
	require.Greater(t, len(blocks), 15)
	require.Less(t, len(blocks), 40, "some come twice")
}

func TestRedrawnTimesAreAsManyAsChanceHasIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var each []time.Duration
	for i := range 400 {
		each = append(each, time.Duration(i))
	}
	for _, times := range []Times{Count(each, nil, 0), Count([]time.Duration{1, 2}, []int64{200, 200}, 400)} {
		r := times.redrawn(rng)
		require.NotEqual(t, times, r)
		sum := r.censored
		for _, n := range r.counts {
			sum += n
		}
		require.Equal(t, sum, r.n)
		require.InDelta(t, float64(times.n), float64(r.n), 120)
		require.InDelta(t, float64(times.censored), float64(r.censored), 0.25*float64(times.censored))
	}
	require.Equal(t, Times{n: 3, censored: 3}, Times{n: 3, censored: 3}.redrawn(rng), "nothing to draw from")
}

func TestIntervalLeavesOutATwentiethOfTheRedraws(t *testing.T) {
	all := make([]time.Duration, 200)
	for i := range all {
		all[i] = time.Duration(200 - i)
	}
	require.Equal(t, &Interval{From: 5, To: 196}, interval(all))
}
