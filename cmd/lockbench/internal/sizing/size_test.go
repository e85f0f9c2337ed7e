package sizing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/engine"
	"muxlock/internal/redlock"
)

const ms = time.Millisecond

// quiet is a measurement of three masters a millisecond away, without any disturbance.
func quiet() Measured {
	m := Measured{Masters: 3, Procs: 1, Watched: 20 * time.Second}
	for i := range 2000 {
		m.Rounds = append(m.Rounds, Round{At: time.Duration(i) * 10 * ms, Trips: []time.Duration{ms, ms + time.Duration(i%7)*time.Microsecond, 2 * ms}})
	}
	return m
}

func holding(hold time.Duration) Ask {
	span := bench.Fixed(hold)
	return Ask{Eps: 1e-6, RTO: 30 * time.Second, Pause: 500 * ms, Hold: &span}
}

// usable returns the usable time of a lease.
func usable(ttl time.Duration) time.Duration { return redlock.Validity(ttl, 0, redlock.DefaultDrift) }

func TestALeaseIsAcquireHoldPauseAndClocks(t *testing.T) {
	s := Size(quiet(), holding(200*ms))
	require.Equal(t, 50*ms, s.Config.MasterTimeout)
	require.InDelta(t, float64(50*ms+200*ms+500*ms), float64(usable(s.Least)), float64(time.Microsecond))
	require.Equal(t, 760*ms, s.Config.TTL)
	require.Equal(t, redlock.DefaultDrift, s.Config.Drift)
	require.False(t, s.Config.Renew)
	require.InDelta(t, 1-math.Exp(-3*0.201/20), s.LostPause, 1e-4, "nothing longer in 20 s")
	require.Zero(t, s.LostHold)

	m := quiet()
	m.Fencing, m.Shared = true, true
	require.InDelta(t, float64(120*ms+200*ms+500*ms), float64(usable(Size(m, holding(200*ms)).Least)), float64(time.Microsecond), "two trips, and a hand-over")
}

func TestTheLongestPauseCountsTwiceAndAnAssumedOneWhereThatIsLonger(t *testing.T) {
	m := quiet()
	m.Pauses = []Moment{{At: time.Second, Took: 100 * ms}}
	require.Equal(t, Part{Took: 500 * ms, From: Assumed, N: 1, Longest: 100 * ms}, Size(m, holding(50*ms)).Pause)
	m.Pauses = append(m.Pauses, Moment{At: 5 * time.Second, Took: 300 * ms})
	require.Equal(t, Part{Took: 600 * ms, From: Seen, N: 2, Longest: 300 * ms}, Size(m, holding(50*ms)).Pause)
	m.Pauses = append(m.Pauses, Moment{At: 6 * time.Second, Took: 200 * ms})
	require.Equal(t, 800*ms, Size(m, holding(time.Second)).Pause.Took, "two in one hold, and the longest once more")
	require.Equal(t, 800*ms, Size(m, holding(680*ms)).Pause.Took, "or in the acquire and the hold")
}

func TestARenewedLeaseIsThreatenedByThePausesOfOneRenewalAlone(t *testing.T) {
	m := quiet()
	for i := range 19 {
		m.Pauses = append(m.Pauses, Moment{At: time.Duration(i+1) * time.Second, Took: 130 * ms})
	}
	ask := holding(time.Minute)
	ask.RTO = 5 * time.Second
	s := Size(m, ask)
	require.False(t, s.Missed)
	require.True(t, s.Config.Renew)
	require.Equal(t, 500*ms, s.Pause.Took)
	require.InDelta(t, float64(2*s.Quorum.Took+502*ms)/(1-0.01-1.0/3-1.0/24), float64(s.Least), 1)
	require.Less(t, s.Config.TTL, time.Second)
	ask.Hold = holding(time.Hour).Hold
	require.Equal(t, s.Config, Size(m, ask).Config, "however long the hold")
}

func TestARenewedLeaseHasTheTimeOfTheLastRenewalAndOfTheNextOne(t *testing.T) {
	const trip = 200 * ms
	m := quiet()
	for i := range m.Rounds {
		m.Rounds[i].Trips = []time.Duration{trip, trip, trip}
	}
	s := Size(m, holding(time.Hour))
	left := usable(s.Config.TTL) - trip // since the last renewal was sent
	left -= s.Config.TTL / redlock.RenewalsPerTTL
	require.GreaterOrEqual(t, left-trip, s.Pause.Took)
}

func TestARenewedLeaseOutlastsALateAcquireAndTheFirstRenewal(t *testing.T) {
	m := quiet()
	m.Fencing, m.Shared = true, true
	for i := range m.Rounds {
		m.Rounds[i].Trips = []time.Duration{ms, ms, 1400 * ms}
	}
	ask := holding(time.Minute)
	ask.Pause = 0
	s := Size(m, ask)
	require.True(t, s.Config.Renew)
	require.Equal(t, 2*2800*ms+redlock.DefaultHandOverTime, s.Acquire.Took)
	left := usable(s.Config.TTL) - s.Acquire.Took - redlock.RenewalRetry(s.Config.TTL)
	require.GreaterOrEqual(t, left, s.Config.MasterTimeout+s.Quorum.Took, "a failed renewal, and the next")
	require.InEpsilon(t, left, s.Config.MasterTimeout+s.Quorum.Took, 0.02, "no longer than that, rounded")
}

func TestARenewedLeaseOutlastsTwiceTheLongestOutage(t *testing.T) {
	m := quiet()
	for i := 500; i < 518; i++ {
		for j := range m.Rounds[i].Trips {
			m.Rounds[i].Trips[j] = 5180*ms - m.Rounds[i].At
		}
		m.Slow = append(m.Slow, Moment{At: m.Rounds[i].At, Took: m.Rounds[i].Trips[0]})
	}
	s := Size(m, holding(time.Hour))
	require.EqualValues(t, 1, s.Outage.N)
	require.InDelta(t, float64(180*ms), float64(s.Outage.Longest), float64(20*ms))
	require.Equal(t, 2*s.Outage.Longest+redlock.RedialWithin(2*s.Outage.Longest), s.Outage.Took)
	require.Greater(t, usable(s.Least)*2/3, s.Outage.Took)

	m.Pauses = []Moment{{5 * time.Second, 180 * ms}}
	require.Zero(t, Size(m, holding(time.Hour)).Outage.Took, "it was the holder that paused")
}

func TestHandOversCountAsLongAsTheyWereSeenAndUpToHalfOfALease(t *testing.T) {
	m := quiet()
	m.Shared = true
	acquire := func(longest, hold time.Duration) Sizes {
		m.HandOvers = Count([]time.Duration{ms, longest}, nil, 0)
		return Size(m, holding(hold))
	}
	require.Equal(t, 70*ms, acquire(69*ms, 200*ms).Acquire.Took, "the engine's default bound is longer")
	s := acquire(320*ms, 200*ms)
	require.Equal(t, 320*ms, s.Acquire.Took)
	require.InDelta(t, float64(1020*ms), float64(usable(s.Least)), float64(time.Microsecond))

	// A lease of which less than half is left is extended first, or was passed on and is renewed at once.
	s = acquire(8*time.Second, 200*ms)
	require.Equal(t, 700*ms, s.Acquire.Took, "hold and pause")
	require.GreaterOrEqual(t, s.Config.TTL/2, 700*ms)
	s = acquire(8*time.Second, time.Hour)
	require.True(t, s.Config.Renew)
	next := s.Pause.Took + s.Quorum.Took + redlock.RenewalRetry(s.Least)
	require.GreaterOrEqual(t, s.Least/2, next)
	require.InEpsilon(t, s.Least/2, next, 0.03, "no longer than that, and the clocks")
	require.Equal(t, 70*ms, acquire(0, time.Hour).Acquire.Took)
}

func TestALongerRTOIsMissedAndSaid(t *testing.T) {
	ask := holding(time.Hour)
	ask.RTO = 600 * ms
	s := Size(quiet(), ask)
	require.True(t, s.Missed)
	require.Greater(t, s.Blocks, ask.RTO)
	require.GreaterOrEqual(t, s.Config.TTL, s.Least)
	ask.RTO = s.Blocks + 100*ms
	s = Size(quiet(), ask)
	require.False(t, s.Missed)
	require.LessOrEqual(t, s.Blocks, ask.RTO)
}

// A renewed lease needs 8/5 of the pause, and one that is not renewed the hold beside it.
func TestALeaseIsRenewedOnlyIfItIsShorterThen(t *testing.T) {
	ask := holding(100 * ms)
	plain := Size(quiet(), ask)
	require.Equal(t, 660*ms, plain.Config.TTL)
	ask.RTO = 650 * ms
	s := Size(quiet(), ask)
	require.True(t, s.Missed)
	require.False(t, s.Config.Renew)
	require.Equal(t, plain.Least, s.Least)
	require.Empty(t, s.Outage.From)
	ask.Hold = holding(300 * ms).Hold
	s = Size(quiet(), ask)
	require.True(t, s.Config.Renew)
	require.Less(t, s.Least, 850*ms)
}

func TestWaitersPollMoreOftenWhereTheRTOWouldElseBeMissed(t *testing.T) {
	m, ask := quiet(), holding(2*time.Second)
	ask.RTO = time.Second
	s := Size(m, ask)
	require.True(t, s.Config.Renew)
	require.False(t, s.Missed)
	require.LessOrEqual(t, s.Blocks, ask.RTO)
	require.Equal(t, 110*ms, s.Config.RetryHeld, "less than for so long a hold")
	require.GreaterOrEqual(t, s.Most, s.Config.TTL)
	require.LessOrEqual(t, s.Config.RetrySplit, s.Config.RetryHeld)

	ask.RTO = 950 * ms
	require.Equal(t, 79*ms, Size(m, ask).Config.RetryHeld, "two thirds of what 822 ms by a slow clock and a quorum leave")

	ask.RTO = 2700 * ms
	s = Size(m, ask)
	require.False(t, s.Config.Renew, "nor are locks renewed for it")
	require.LessOrEqual(t, s.Blocks, ask.RTO)
	require.Less(t, s.Config.RetryHeld, 250*ms)
	ask.RTO = 10 * time.Second
	require.Equal(t, 250*ms, Size(m, ask).Config.RetryHeld)

	ask.RTO = 500 * ms
	s = Size(m, ask)
	require.True(t, s.Missed)
	require.Equal(t, 11*ms, s.Config.RetryHeld, "ten round trips")
}

func TestAnAdviceThatMissesNothingBlocksForNoLongerThanTheRTO(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	between := func(least, most float64) time.Duration {
		return time.Duration(1e9 * least * math.Pow(most/least, rng.Float64()))
	}
	for range 3000 {
		m := Measured{Masters: 1 + rng.IntN(7), Fencing: rng.IntN(2) == 0, Shared: rng.IntN(2) == 0, Watched: between(1, 1e5), Pauses: []Moment{{Took: between(1e-3, 1)}}}
		base := between(1e-4, 3)
		for i := range 200 {
			r := Round{At: time.Duration(i) * m.Watched / 200}
			for range m.Masters {
				r.Trips = append(r.Trips, time.Duration(float64(base)*(0.5+rng.ExpFloat64())))
			}
			m.Rounds = append(m.Rounds, r)
		}
		if rng.IntN(3) == 0 {
			m.Clocks = []bench.Clock{{PPM: rng.NormFloat64() * 3e4, PPMError: rng.ExpFloat64() * 1e4, JumpNs: int64(rng.ExpFloat64() * 1e8)}}
		}
		hold := bench.Exp(between(1e-3, 100))
		ask := Ask{Eps: math.Pow(10, -1-8*rng.Float64()), RTO: between(0.01, 1e4), Pause: between(1e-3, 2), Hold: &hold}
		s := Size(m, ask)
		what := []any{"%+v of %+v", s, ask}
		require.Equal(t, s.Missed, s.Least > s.Most, what...)
		if !s.Missed {
			require.LessOrEqual(t, s.Blocks, ask.RTO, what...)
			require.LessOrEqual(t, s.Config.TTL, s.Most, what...)
		}
		require.LessOrEqual(t, s.Config.RetrySplit, s.Config.RetryHeld, what...)
		c := engine.Config{Masters: make([]string, m.Masters), TTL: s.Config.TTL, MaxTTL: s.Config.MaxTTL, MasterTimeout: s.Config.MasterTimeout, Drift: s.Config.Drift,
			RetryHeld: s.Config.RetryHeld, RetrySplit: s.Config.RetrySplit, Fencing: s.Config.Fencing}
		for i := range c.Masters {
			c.Masters[i] = fmt.Sprint("m:", i+1)
		}
		require.NoError(t, c.Validate(), what...)
		require.Less(t, s.Acquire.Took, s.Config.TTL, what...)
	}
}

// A key expires later on a master whose clock steps back.
func TestAJumpOfAClockBlocksAsLongAsIt(t *testing.T) {
	m, ask := quiet(), holding(100*ms)
	ask.RTO = 6 * time.Second
	still := Size(m, ask)
	m.Clocks = []bench.Clock{{JumpNs: int64(2 * time.Second)}}
	s := Size(m, ask)
	require.InDelta(t, float64(still.Most-2*time.Second), float64(s.Most), float64(100*ms), "less the jump, rounded")
	_, last := redlock.HeldDelay(s.Config.RetryHeld)
	require.InDelta(t, float64(s.Config.TTL+2*time.Second+last+s.Quorum.Took), float64(s.Blocks), float64(s.Config.TTL)*0.011)
	require.True(t, s.Missed, "and that is said")
	ask.RTO = s.Blocks + time.Second
	require.False(t, Size(m, ask).Missed)
}

// The next holder may need two round trips, for its fence.
func TestACrashedHolderBlocksForTwoRoundTripsWithFencing(t *testing.T) {
	m := quiet()
	for i := range m.Rounds {
		m.Rounds[i].Trips = []time.Duration{200 * ms, 200 * ms, 200 * ms}
	}
	ask := holding(200 * ms)
	s := Size(m, ask)
	m.Fencing = true
	fenced := Size(m, ask)
	require.Equal(t, 400*ms, fenced.Config.TTL-s.Config.TTL, "of another MasterTimeout")
	require.InDelta(t, float64(400*ms+200*ms), float64(fenced.Blocks-s.Blocks), float64(5*ms))
	ask.RTO = fenced.Config.TTL + 700*ms
	m.Fencing = false
	s = Size(m, ask)
	m.Fencing = true
	require.Equal(t, 200*ms, s.Most-Size(m, ask).Most)
}

func TestMasterTimeoutIsTwiceWhatTheSamplesShow(t *testing.T) {
	m := quiet()
	for i := range m.Rounds {
		if i%50 == 0 { // 2 %
			m.Rounds[i].Trips = []time.Duration{80 * ms, 90 * ms, 2 * ms}
		}
	}
	require.Equal(t, 160*ms, Size(m, holding(ms)).Config.MasterTimeout)
	m = quiet()
	for i := range m.Rounds {
		m.Rounds[i].Trips = []time.Duration{ms, ms, 40*ms + 1}
	}
	require.Equal(t, 81*ms, Size(m, holding(ms)).Config.MasterTimeout, "the farthest master, rounded")
	for i := range m.Rounds {
		if i%50 == 0 {
			m.Rounds[i].Trips = []time.Duration{4 * time.Second, 4 * time.Second, 4 * time.Second}
		}
	}
	require.Equal(t, 3*time.Second, Size(m, holding(ms)).Config.MasterTimeout, "a tenth of the RTO")
}

func TestMasterTimeoutIsTwiceTheMedianOfAQuorumHoweverShortTheRTO(t *testing.T) {
	m := quiet()
	for i := range m.Rounds {
		m.Rounds[i].Trips = []time.Duration{250 * ms, 250 * ms, 250 * ms}
	}
	ask := holding(200 * ms)
	ask.RTO = 3 * time.Second
	s := Size(m, ask)
	require.Equal(t, 500*ms, s.Config.MasterTimeout, "not a tenth of the RTO, in which no acquire wins")
	require.False(t, s.Missed)
	ask.RTO = time.Second
	s = Size(m, ask)
	require.Equal(t, 500*ms, s.Config.MasterTimeout)
	require.True(t, s.Missed)
}

func TestMasterTimeoutIsAtMostATenthOfTheRTOAlsoRounded(t *testing.T) {
	m := quiet()
	for i := range m.Rounds {
		m.Rounds[i].Trips = []time.Duration{ms, ms, 700 * ms}
	}
	ask := holding(ms)
	ask.RTO = 11_100 * ms
	s := WithSpread(m, ask, 40)
	require.Equal(t, 1100*ms, s.Config.MasterTimeout)
	require.Nil(t, s.Spread.MasterTimeout, "the RTO decides")
}

func TestClocksThatDifferOrJumpNeedMoreDrift(t *testing.T) {
	m := quiet()
	m.Clocks = []bench.Clock{{PPM: 20, PPMError: 5}, {PPM: -30}}
	require.Equal(t, redlock.DefaultDrift, Size(m, holding(ms)).Config.Drift)
	m.Clocks[0].PPM = 15_000
	require.Equal(t, 0.016, Size(m, holding(ms)).Config.Drift)
	m.Clocks[0] = bench.Clock{PPMError: 1e6}
	s := Size(m, holding(ms))
	require.Equal(t, redlock.DefaultDrift, s.Config.Drift)
	require.Positive(t, s.Config.TTL)
	require.Contains(t, strings.Join(s.Warnings, ""), "clock was not seen")
	m.Clocks[0] = bench.Clock{JumpNs: int64(20 * ms)}
	s = Size(m, holding(ms))
	require.InDelta(t, 0.01+float64(20*ms)/float64(s.Config.TTL), s.Config.Drift, 1e-4)
}

// upTo returns the times of 1 to n ms, each once.
func upTo(n int) (took []time.Duration) {
	for i := range n {
		took = append(took, time.Duration(i+1)*ms)
	}
	return took
}

func TestHoldsAreAQuantileThatTheSamplesShowOrTheLongest(t *testing.T) {
	m := quiet()
	held := upTo(2000)
	m.Holds = Count(held, nil, 0)
	ask := Ask{Eps: 0.01, RTO: time.Minute}
	h := Size(m, ask).Hold
	require.Equal(t, 1980*ms, h.Took)
	require.Equal(t, 0.01, h.Beyond)
	require.InDelta(t, 0.0145, h.AtMost, 0.0005)
	ask.Eps = 1e-3 // two samples
	h = Size(m, ask).Hold
	require.Equal(t, 2000*ms, h.Took)
	require.InDelta(t, 3.0/2000, h.AtMost, 1e-5, "not seen in 2,000")

	m.Holds = Count(held, nil, 15)
	ask.Eps = 0.01
	h = Size(m, ask).Hold
	require.Equal(t, 1995*ms, h.Took, "what outlived the measurement is longer than all")
	require.InDelta(t, 20.0/2015, h.Beyond, 1e-9)
	require.InDelta(t, 0.0144, h.AtMost, 0.0005)
	m.Holds = Count(held, nil, 100)
	s := Size(m, ask)
	require.Empty(t, s.Lacks)
	require.Equal(t, Part{Took: 2000 * ms, From: Seen, N: 2100, Beyond: 100.0 / 2100, AtMost: AtMost(100, 2100), Longest: 2000 * ms}, s.Hold, "any of them may be longer")
	require.Equal(t, s.Hold.AtMost, s.LostHold)
	m.Holds = Count(nil, nil, 100)
	s = Size(m, ask)
	require.Len(t, s.Lacks, 1)
	require.Contains(t, s.Lacks[0], "all of 100 holds outlived")
}

func TestTheBoundOfAShareCoversAsOftenAsItSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const p, n, times = 0.002, 1000, 2000
	covered := 0
	for range times {
		k := int64(0)
		for range n {
			if rng.Float64() < p {
				k++
			}
		}
		if _, most := Count([]time.Duration{1, 2}, []int64{n - k, k}, 0).Above(1); most >= p {
			covered++
		}
	}
	require.Greater(t, covered, times*95/100)
	_, most := Count([]time.Duration{1}, []int64{n}, 0).Above(1)
	require.InEpsilon(t, 3.0/n, most, 0.01)
}

func TestStolenIsTheMostThatPausesTakeFromAnyStretchOfWork(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	var pauses []Moment
	at := time.Duration(0)
	for range 200 {
		at += time.Duration(rng.ExpFloat64() * float64(100*ms))
		pauses = append(pauses, Moment{At: at, Took: time.Duration(rng.Float64() * float64(60*ms))})
		at += pauses[len(pauses)-1].Took
	}
	for _, work := range []time.Duration{ms, 50 * ms, 300 * ms, 2 * time.Second} {
		var want time.Duration
		for i, first := range pauses { // step by step
			left, end := work, first.At
			sum := time.Duration(0)
			for _, p := range pauses[i:] {
				if p.At-end > left {
					break
				}
				left -= p.At - end
				sum, end = sum+p.Took, p.At+p.Took
			}
			want = max(want, sum)
		}
		got, _ := stolen(pauses, work)
		require.Equal(t, want, got, work)
	}
	most, longest := stolen([]Moment{{0, 5}, {15, 7}}, 10)
	require.EqualValues(t, 12, most, "the second one begins as the work would end")
	require.EqualValues(t, 7, longest)
}

func TestGapIsWhatASimulationOfPollingWaitersFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, k := range []int{1, 3, 8} {
		from, to, sum := 50.0, 250.0, 0.0
		const draws = 20_000
		for range draws {
			first := math.Inf(1)
			for range k {
				t := -1000 * rng.Float64() // long in its delays
				for t < 0 {
					t += from + rng.Float64()*(to-from)
				}
				first = min(first, t)
			}
			sum += first
		}
		require.InEpsilon(t, sum/draws, gap(from, to, k), 0.05, k)
	}
}

func TestAWaiterLeavesTheLockFreeForATenthOfTheTimeThatItIsHeldOnAverage(t *testing.T) {
	ask := holding(0)
	for _, mean := range []time.Duration{200 * ms, time.Second} {
		hold := bench.Exp(mean)
		ask.Hold = &hold
		s := Size(quiet(), ask)
		const undo = 2 * ms
		require.InEpsilon(t, 0.1*float64(mean+undo), HeldGap(s.Config.RetryHeld, 1), 0.05, "rounded")
	}
}

func TestSplitVotesAreThoseOfASimulation(t *testing.T) {
	for _, masters := range []int{2, 3, 5} {
		rng := rand.New(rand.NewPCG(8, uint64(masters)))
		m := Measured{Masters: masters}
		for range 4000 {
			r := Round{Trips: make([]time.Duration, masters)}
			for i := range r.Trips {
				r.Trips[i] = 2 * time.Duration(1e6*math.Exp(0.5*rng.NormFloat64()))
			}
			m.Rounds = append(m.Rounds, r)
		}
		up, q := masters-masters%2, masters/2+1
		const k, span, draws = 2, 50e6, 200_000
		split := 0
		for range draws {
			gap := (rng.Float64() - rng.Float64()) * span
			first, second := m.Rounds[rng.IntN(4000)].Trips, m.Rounds[rng.IntN(4000)].Trips
			votes := 0
			for i := range up {
				if float64(first[i])/2 < float64(second[i])/2+gap {
					votes++
				}
			}
			if votes < q && up-votes < q {
				split++
			}
		}
		require.InEpsilon(t, float64(split)/draws, SplitVotes(m.SplitGaps(), k, span), 0.15, masters)
	}
	require.Empty(t, Measured{Masters: 1}.SplitGaps())
}

// One probe in a hundred that takes 200 ms has a mean that many votes do not have.
func TestAFewSlowProbesSplitAsManyVotesAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	m := Measured{Masters: 3}
	for i := range 4000 {
		r := Round{Trips: []time.Duration{ms, ms, ms}}
		for j := range r.Trips {
			r.Trips[j] += time.Duration(0.1e6 * rng.Float64())
		}
		if i%100 == 0 {
			r.Trips[rng.IntN(2)] = 200 * ms
		}
		m.Rounds = append(m.Rounds, r)
	}
	_, split, votes := m.retries(ms, time.Minute, time.Minute, 2)
	require.Less(t, votes, 0.1, "two in a hundred, and those of the others")
	require.Less(t, split, 3*ms)
}

func TestTheBestSpreadHasTheShortestMeanTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	for range 200 {
		k, lost := 2+rng.IntN(5), 1e6*rng.ExpFloat64()
		gaps := make([]float64, 1+rng.IntN(30))
		for i := range gaps {
			gaps[i] = math.Exp(10 + 3*rng.NormFloat64())
		}
		mean := func(span float64) float64 { return (span/float64(k+1) + lost) / (1 - SplitVotes(gaps, k, span)) }
		best := mean(BestSpread(gaps, k, lost))
		for span := 1.0; span < 1e12; span *= 1.02 {
			require.LessOrEqual(t, best, mean(span)*(1+1e-9))
		}
	}
}

func TestTooFewSamplesLackMore(t *testing.T) {
	m := quiet()
	m.Rounds = m.Rounds[:99]
	require.Len(t, Size(m, holding(ms)).Lacks, 1)
	m.Acquires = Count([]time.Duration{ms, 2 * ms}, []int64{60, 60}, 0)
	require.Empty(t, Size(m, holding(ms)).Lacks, "acquires stand for them")
	require.Equal(t, m.Acquires, m.attempts())
	m.Rounds = quiet().Rounds[:100]
	require.Equal(t, m.quorums(), m.attempts(), "probes are enough")
	require.Empty(t, Size(m, holding(ms)).Lacks)
	m.Rounds = m.Rounds[:99]
	m.Acquires = Count([]time.Duration{ms}, []int64{120}, 0)
	require.Equal(t, m.Acquires, m.attempts(), "all took as long")
	m.Acquires = Times{}
	require.Equal(t, m.quorums(), m.attempts())
}

func TestATenthOfProbesWithoutAQuorumLackMasters(t *testing.T) {
	m := quiet()
	for i := range m.Rounds {
		if i%10 == 0 {
			m.Rounds[i].Trips = []time.Duration{ms, -1, -1}
		}
	}
	require.Empty(t, Size(m, holding(ms)).Lacks)
	m.Rounds[1].Trips = []time.Duration{ms, -1, -1}
	require.Len(t, Size(m, holding(ms)).Lacks, 1)
}

func TestTheFarthestMasterIsTheOneWithTheLongestMedian(t *testing.T) {
	m := Measured{Masters: 4}
	for i := range 10 {
		m.Rounds = append(m.Rounds, Round{Trips: []time.Duration{20, 1, time.Duration(31 + i), -1}})
	}
	m.Rounds[9].Trips = []time.Duration{90, 90, 40, 90}
	require.Equal(t, Part{Took: 35, From: Seen, N: 10, Beyond: 0.5, Longest: 40}, m.farthestMaster(), "no trip is known of one that is down")
	require.Zero(t, Measured{Masters: 1, Rounds: []Round{{Trips: []time.Duration{-1}}}}.farthestMaster())
}

func TestMasterTimeoutIsTwiceTheTripToTheFarthestMasterHoweverManyThereAre(t *testing.T) {
	for n := 1; n <= 7; n++ {
		m := quiet()
		m.Masters = n
		for i := range m.Rounds {
			m.Rounds[i].Trips = slices.Repeat([]time.Duration{ms}, n)
			m.Rounds[i].Trips[n-1] = 200 * ms
		}
		s := Size(m, holding(ms))
		require.Equal(t, 400*ms, s.Config.MasterTimeout, "%d masters: a quorum may need all that are not down", n)
		require.Equal(t, 200*ms, s.OneDown.Took)
	}
}

func TestPollsAreTenMedianRoundTripsApart(t *testing.T) {
	m := quiet()
	for i := range 1100 {
		m.Rounds[i].Trips = []time.Duration{4 * ms, 4 * ms, 4 * ms}
	}
	require.Equal(t, 40*ms, Size(m, holding(ms)).Config.RetryHeld)
}

func TestALongRTOHoldsNoRestartedMasterBackForLong(t *testing.T) {
	ask := holding(200 * ms)
	ask.RTO = 10 * time.Minute
	s := Size(quiet(), ask)
	require.Greater(t, s.Most, 9*time.Minute)
	require.Equal(t, redlock.DefaultMaxTTL, s.Config.MaxTTL)
	ask.Hold = holding(time.Minute).Hold
	s = Size(quiet(), ask)
	require.Equal(t, s.Config.TTL, s.Config.MaxTTL)
}

func TestALeaseAsLongAsTheRTOAllowsIsNotRenewed(t *testing.T) {
	ask := holding(398*ms + 400*time.Microsecond) // 820 ms suffice if renewed
	s := Size(quiet(), ask)
	require.Equal(t, 960*ms, s.Least)
	ask.RTO = 989 * ms // 960 ms and 1 by a slow clock, the shortest RetryHeld and a quorum
	s = Size(quiet(), ask)
	require.Equal(t, 11*ms, s.Config.RetryHeld)
	require.Equal(t, s.Most, s.Least)
	require.False(t, s.Config.Renew)
	require.False(t, s.Missed)
}

func TestSizesOfAQuietMeasurement(t *testing.T) {
	m := quiet()
	m.Clocks = []bench.Clock{{PPM: 3}}
	ask := holding(200 * ms)
	s := Size(m, ask)
	require.Equal(t, 2, s.Waiters)
	require.Equal(t, 3.0, s.Slowest)
	require.Equal(t, 1006*time.Microsecond, s.Quorum.Took)
	require.Equal(t, 1003*time.Microsecond, s.Trip)
	require.Equal(t, Part{Took: 50 * ms, From: Bounded}, s.Acquire)
	require.Equal(t, 38*ms, s.Config.RetryHeld)
	require.Equal(t, 29_000*ms, s.Most, "30 s, less 57 ms and a quorum, over 1.01")
	require.Equal(t, s.Most, s.Config.MaxTTL)
	require.InDelta(t, float64(767_600*time.Microsecond+57*ms+s.Quorum.Took), float64(s.Blocks), float64(time.Microsecond))
	require.Equal(t, 9600*time.Microsecond, s.Clocks)
	require.Equal(t, 200*ms, s.MeanHold)
	require.Equal(t, s.LostPause, s.Lost)
	ask.RTO = 1007*ms + 608*time.Microsecond // less 57 ms and a quorum, over 1.01, less 1 ms: 939.2 ms
	require.Equal(t, 930*ms, Size(m, ask).Most)
	ask.Waiters = 5
	require.Equal(t, 5, Size(m, ask).Waiters)
	m.Procs = 4
	require.Equal(t, 5, Size(m, ask).Waiters)
	ask.Waiters = 0
	require.Equal(t, 4, Size(m, ask).Waiters)
	m.Watched, m.Holds, ask.Hold = 0, Count(nil, nil, 99), nil
	s = Size(m, ask)
	require.Equal(t, []float64{1, 1, 1}, []float64{s.LostHold, s.LostPause, s.Lost}, "nothing is known of either")
}
