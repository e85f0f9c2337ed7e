package sizing

import (
	"math"
	"math/rand/v2"
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
	m := Measured{Masters: 3, Watched: 20 * time.Second}
	for i := range 2000 {
		m.Rounds = append(m.Rounds, Round{At: time.Duration(i) * 10 * ms, Trips: []time.Duration{ms, ms + time.Duration(i%7)*time.Microsecond, 2 * ms}})
	}
	return m
}

func holding(hold, rto time.Duration) Ask {
	span := bench.Fixed(hold)
	return Ask{RTO: rto, Hold: &span}
}

func TestPlainNumbersAreTheRoundOnes(t *testing.T) {
	for d, want := range map[time.Duration][2]time.Duration{
		0: {0, ms}, ms: {ms, ms}, 1400 * time.Microsecond: {ms, 1500 * time.Microsecond}, 6999 * ms: {5 * time.Second, 7 * time.Second},
		7 * time.Second: {7 * time.Second, 7 * time.Second}, 7001 * ms: {7 * time.Second, 10 * time.Second}, time.Hour: {3000 * time.Second, 5000 * time.Second},
	} {
		require.Equal(t, want, [2]time.Duration{plain(d, false), plain(d, true)}, d)
	}
}

func TestTheTTLIsTheLargestRoundNumberThatIsAllowed(t *testing.T) {
	for _, c := range []struct {
		hold, rto, inUse, ttl, maxTTL time.Duration
		why                           Reason
	}{
		{20 * ms, 10 * time.Second, 0, 7 * time.Second, 30 * time.Second, ByRTO},
		{20 * ms, 3 * time.Second, 0, 2 * time.Second, 30 * time.Second, ByRTO},
		{20 * ms, 5 * time.Minute, 0, 30 * time.Second, 30 * time.Second, ByMaxTTL},
		{20 * ms, 5 * time.Minute, time.Minute, 50 * time.Second, time.Minute, ByMaxTTL},
		{20 * ms, 0, 0, 10 * time.Second, 30 * time.Second, ByDefault},
		{20 * ms, 0, 5 * time.Second, 5 * time.Second, 5 * time.Second, ByMaxTTL},
		{12 * time.Second, 0, 0, 15 * time.Second, 30 * time.Second, ByNeed},
		{8 * time.Second, 10 * time.Second, 0, 8200 * ms, 30 * time.Second, ByNeed},
	} {
		m := quiet()
		m.MaxTTL = c.inUse
		s := Size(m, holding(c.hold, c.rto))
		require.Equal(t, []any{c.ttl, c.maxTTL, c.why, false}, []any{s.Config.TTL, s.Config.MaxTTL, s.Why, s.Config.Renew}, c)
		require.True(t, s.Advised(), c)
	}
}

func TestALeaseIsAcquireHoldPauseAndClocks(t *testing.T) {
	m := quiet()
	m.Pauses = []Moment{{At: time.Second, Took: 100 * ms}, {At: 1150 * ms, Took: 50 * ms}, {At: 9 * time.Second, Took: 120 * ms}}
	s := Size(m, holding(200*ms, 0))
	require.Equal(t, 50*ms, s.Config.MasterTimeout)
	require.Equal(t, 410*ms, s.Needed, "two pauses in one hold")
	require.Equal(t, Part{Took: 150 * ms, N: 3}, s.Pause)
	m.Fencing, m.Shared = true, true
	require.Equal(t, 120*ms, Size(m, holding(200*ms, 0)).Acquire, "two trips, and a hand-over")
	ask := holding(200*ms, 0)
	ask.Pause = 151 * ms
	require.Equal(t, Part{Took: 151 * ms, Given: true}, Size(m, ask).Pause)
	ask.Pause = 150 * ms
	require.False(t, Size(m, ask).Pause.Given)
}

func TestLocksAreRenewedIfTheirHoldsAreTooLong(t *testing.T) {
	m := quiet()
	m.Pauses = []Moment{{At: time.Second, Took: 300 * ms}, {At: 5 * time.Second, Took: 300 * ms}}
	s := Size(m, holding(time.Hour, 10*time.Second))
	require.True(t, s.Config.Renew)
	require.Equal(t, 7*time.Second, s.Config.TTL)
	require.Equal(t, RoundUp(time.Duration(float64(s.Quorum+300*ms)*24/11)), s.Needed, "one renewal meets one pause")
	require.Greater(t, s.Unkept, time.Hour)
	require.True(t, s.Advised())
	require.Equal(t, s.Needed, Size(m, holding(time.Minute, 0)).Needed, "however long the hold")

	m.Holds, m.Renewed = Count([]time.Duration{20 * ms}, []int64{900}, 0), Count([]time.Duration{time.Hour}, []int64{99}, 1)
	s = Size(m, Ask{})
	require.False(t, s.Config.Renew, "the others are short")
	require.Equal(t, 0.1, s.Renewed)
	require.Equal(t, 660*ms, s.Needed, "which those need that are renewed")
	require.Equal(t, 380*ms, s.Unkept)
	m.Holds = Times{}
	s = Size(m, Ask{})
	require.True(t, s.Config.Renew)
	require.Zero(t, s.Unkept)
}

func TestALeaseIsRenewedOnlyIfItIsShorterThen(t *testing.T) {
	m := quiet()
	m.Slow = []Moment{{At: time.Second, Took: 900 * ms}}
	s := Size(m, holding(500*ms, 400*ms))
	require.True(t, s.Missed)
	require.False(t, s.Config.Renew, "an outage costs only what is renewed")
	m.Slow = nil
	s = Size(m, holding(500*ms, 400*ms))
	require.False(t, s.Missed)
	require.True(t, s.Config.Renew)
}

func TestARenewedLeaseOutlastsAnOutageWithThePausesBesideIt(t *testing.T) {
	m := quiet()
	m.Slow = []Moment{{At: time.Second, Took: 180 * ms}}
	outage := 180*ms + redlock.RedialWithin(180*ms) + 50*ms // and the last renewal fails
	s := Size(m, holding(time.Hour, 0))
	require.Equal(t, Part{Took: outage, N: 2000}, s.Outage)
	require.Equal(t, RoundUp(time.Duration(float64(s.Quorum+outage)*24/11)), s.Needed)
	m.Pauses = []Moment{{At: 900 * ms, Took: 101 * ms}}
	require.Equal(t, 100*ms+outage, Size(m, holding(time.Hour, 0)).Outage.Took)
	m.Pauses[0].Took = 49 * ms
	require.Equal(t, outage, Size(m, holding(time.Hour, 0)).Outage.Took, "a renewal fits in between")
	m.Rounds, m.Slow, m.Acquires = nil, nil, Count([]time.Duration{ms}, []int64{100}, 0)
	require.Zero(t, Size(m, holding(time.Hour, 0)).Outage, "nobody watched")
}

func TestProbesThatWereLostToAPauseOfTheHolderShowNoOutage(t *testing.T) {
	m := quiet()
	m.Pauses = []Moment{{At: 1001 * ms, Took: 1500 * ms}}
	m.Slow = []Moment{{At: 995 * ms, Took: -5 * ms}, {At: 1000 * ms, Took: -1510 * ms}} // the probe's timeout is 1 s
	require.Empty(t, m.outages(50*ms))
	m.Slow = []Moment{{At: time.Second, Took: 1540 * ms}}
	require.Empty(t, m.outages(50*ms))
	m.Slow[0].Took = 1560 * ms
	require.Equal(t, []Moment{{time.Second, 1610*ms + redlock.RedialWithin(1560*ms)}}, m.outages(50*ms), "the answer was late by more")
	m.Slow = []Moment{{At: 5 * time.Second, Took: -30 * ms}, {At: 5030 * ms, Took: -30 * ms}, {At: 5200 * ms, Took: -50 * ms}}
	require.Equal(t, []Moment{{5 * time.Second, 110*ms + redlock.RedialWithin(60*ms)}}, m.outages(50*ms), "a short one costs no more than MasterTimeout")
}

// Once it was a single probe, and made MasterTimeout 1 s.
func TestAPauseOfTheHolderMakesNoMasterSlow(t *testing.T) {
	m := quiet()
	m.Pauses = []Moment{{At: 3 * time.Second, Took: 500 * ms}}
	for i := range m.Rounds {
		switch at := m.Rounds[i].At; {
		case at >= 3*time.Second && at < 3500*ms:
			late := 3500*ms - at + ms
			m.Rounds[i].Trips = []time.Duration{late, late, late}
		case i%40 == 0:
			m.Rounds[i].Trips = []time.Duration{ms, -1, -1} // no quorum
		}
	}
	s := Size(m, holding(20*ms, 0))
	require.Equal(t, 50*ms, s.Config.MasterTimeout)
	require.Equal(t, 90.0, s.QuorumP, "2.5 % of the probes found none")
	require.LessOrEqual(t, s.Quorum, 2*ms)
}

func TestMasterTimeoutIsTwiceWhatTheSamplesShow(t *testing.T) {
	at := func(trips ...time.Duration) Measured {
		m := quiet()
		for i := range m.Rounds {
			m.Rounds[i].Trips = trips
		}
		return m
	}
	timeout := func(m Measured, rto time.Duration) time.Duration {
		return Size(m, holding(ms, rto)).Config.MasterTimeout
	}
	require.Equal(t, 70*ms, timeout(at(30*ms, 30*ms, 30*ms), 0))
	require.Equal(t, 150*ms, timeout(at(30*ms, 30*ms, 60*ms), 0), "one of the near ones may be down")
	require.Equal(t, time.Second, timeout(at(ms, ms, 900*ms), 0), "a tenth of the TTL")
	require.Equal(t, 300*ms, timeout(at(ms, ms, 900*ms), 3*time.Second))
	require.Equal(t, 2*time.Second, timeout(at(900*ms, 900*ms, 900*ms), 0), "in less no acquire wins")
	m := at(ms, ms, ms)
	for i := range 40 {
		m.Rounds[50*i].Trips = []time.Duration{40 * ms, 40 * ms, 40 * ms}
	}
	s := Size(m, holding(ms, 0))
	require.Equal(t, 99.0, s.QuorumP, "40 of 2,000 are slower, and two are no p99.9")
	require.Equal(t, 100*ms, s.Config.MasterTimeout)
	for i := range 40 {
		m.Rounds[50*i].Trips = []time.Duration{400 * ms, 400 * ms, 400 * ms}
	}
	s = Size(m, holding(ms, 0))
	require.Equal(t, 90.0, s.QuorumP, "times many times the median are of an outage")
	require.Equal(t, 50*ms, s.Config.MasterTimeout)
}

func TestHandOversCountAsLongAsTheyWereSeenAndUpToHalfOfALease(t *testing.T) {
	acquire := func(handed, hold time.Duration) Sizes {
		m := quiet()
		m.Shared, m.HandOvers = true, Count([]time.Duration{handed}, nil, 0)
		return Size(m, holding(hold, 0))
	}
	require.Equal(t, 70*ms, acquire(69*ms, 200*ms).Acquire, "the engine's default bound is longer")
	require.Equal(t, 150*ms, acquire(150*ms, 200*ms).Acquire)
	require.Equal(t, 200*ms, acquire(time.Second, 200*ms).Acquire, "as the hold")
}

func TestAnRTOThatAllowsLessThanIsNeededIsMissed(t *testing.T) {
	m := quiet()
	m.Pauses = []Moment{{At: time.Second, Took: 4 * time.Second}}
	ask := holding(time.Minute, 3*time.Second)
	s := Size(m, ask)
	require.True(t, s.Missed)
	require.Equal(t, 2*time.Second, s.Config.TTL, "what is allowed")
	require.False(t, s.Advised())
	require.Empty(t, s.Lacks, "it is known well enough")
	ask.RTO = s.Enough
	again := Size(m, ask)
	require.False(t, again.Missed)
	require.True(t, again.Advised())
	require.LessOrEqual(t, again.Blocks, ask.RTO)
	ask.RTO = s.Enough * 9 / 10
	require.True(t, Size(m, ask).Missed)

	ask = holding(20*ms, 3*time.Second)
	s = Size(m, ask)
	require.True(t, s.Missed)
	require.True(t, s.Advised(), "few holds meet the pause")
	require.Positive(t, s.Lost)
	ask.RTO = 20 * ms
	s = Size(m, ask)
	require.Zero(t, s.Config.TTL)
	require.EqualValues(t, replays, s.Lost)
}

// What is advised for, whatever was measured, is what the engine takes.
func TestAnAdviceThatMissesNothingBlocksForNoLongerThanTheRTO(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	between := func(least, most time.Duration) time.Duration {
		return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), rng.Float64()))
	}
	for range 300 {
		m := Measured{Masters: 3, Watched: time.Minute, Fencing: rng.IntN(2) == 0, Shared: rng.IntN(2) == 0, MaxTTL: between(time.Second, time.Hour)}
		trip := between(50*time.Microsecond, 2*time.Second)
		for i := range 200 {
			m.Rounds = append(m.Rounds, Round{At: time.Duration(i) * 300 * ms, Trips: []time.Duration{trip, trip + trip/7, 2 * trip}})
		}
		if rng.IntN(2) == 0 {
			m.Pauses = []Moment{{At: time.Second, Took: between(ms, 10*time.Second)}}
		}
		ask := holding(between(ms, time.Hour), between(100*ms, time.Hour))
		if rng.IntN(4) == 0 {
			ask.RTO = 0
		}
		s := Size(m, ask)
		require.Equal(t, ask.RTO > 0 && s.Needed > s.Allowed, s.Missed)
		require.Equal(t, max(s.InUse, s.Config.TTL), s.Config.MaxTTL)
		if s.Missed {
			continue
		}
		require.GreaterOrEqual(t, s.Config.TTL, s.Needed)
		require.Zero(t, s.Lost)
		if ask.RTO > 0 {
			require.LessOrEqual(t, s.Blocks, ask.RTO)
		}
		c := engine.Config{Masters: []string{"a:1", "b:1", "c:1"}, TTL: s.Config.TTL, MaxTTL: s.Config.MaxTTL, MasterTimeout: s.Config.MasterTimeout,
			Fencing: s.Config.Fencing}
		require.NoError(t, c.Validate())
	}
}

func TestTheReplayLosesWhatMeetsAPauseThatIsTooLong(t *testing.T) {
	m := quiet() // 20 s
	m.Pauses = []Moment{{At: 10 * time.Second, Took: 3 * time.Second}}
	for hold, want := range map[time.Duration]float64{100 * ms: 0.0075, time.Second: 0.0525} {
		s := Size(m, holding(hold, 2500*ms))
		require.True(t, s.Missed)
		require.InDelta(t, want*replays, s.Lost, replays/1000, hold) // the hold and its acquire, of 20 s
	}
	s := Size(m, holding(5*time.Second, 2500*ms))
	require.True(t, s.Config.Renew)
	require.InDelta(t, 0.25*replays, s.Lost, replays/1000, "a renewed one meets it within its hold")
	require.EqualValues(t, replays, Size(m, holding(time.Hour, 2500*ms)).Lost)
	require.Zero(t, Size(m, holding(5*time.Second, 10*time.Second)).Lost)
	m = quiet()
	m.Holds, m.Renewed = Count([]time.Duration{ms}, []int64{1000}, 20), Count([]time.Duration{time.Hour}, []int64{100}, 0)
	require.InDelta(t, replays*20.0/1120, Size(m, Ask{}).Lost, 1, "those that were not released, and none that was renewed")

	r, block := rules{timeout: ms}, Moment{At: 10 * time.Second, Took: 3 * time.Second}
	s = Sizes{Config: Config{TTL: r.kept(block.Took), Renew: true}}
	require.Zero(t, m.replay(r, s, m.Holds, Times{}, []Moment{block}), "the lease outlasts it")
	s.Config.TTL--
	require.Positive(t, m.replay(r, s, m.Holds, Times{}, []Moment{block}))
}

func TestAnAttemptIsAProbeOrAnAcquireWhereProbesAreTooFew(t *testing.T) {
	m := quiet()
	m.Rounds, m.Pauses, m.Acquires = m.Rounds[:few], []Moment{{Took: ms / 2}}, Count([]time.Duration{7 * ms}, nil, 0)
	require.EqualValues(t, few, m.attempts().n)
	require.Equal(t, ms/2, m.attempts().took[0], "without the pause in it")
	m.Rounds = m.Rounds[1:]
	require.Equal(t, m.Acquires, m.attempts())
	m.Acquires = Times{}
	require.EqualValues(t, few-1, m.attempts().n)
}

func TestBoundsAreOnWhatWasNotSeen(t *testing.T) {
	m := quiet()
	m.Holds = Count([]time.Duration{998 * ms}, []int64{1000}, 0)
	s := Size(m, Ask{})
	require.InDelta(t, 3.0/1000+1-math.Exp(-3.0/20), s.AtMost, 1e-3, "a longer hold, and a longer pause in a hold of a second")
	require.InDelta(t, 20.0/3, s.Every.Seconds(), 0.05)
}

func TestTooLittleSaysWhatToMeasure(t *testing.T) {
	m := quiet()
	for want, change := range map[string]func(*Measured){
		"":                         func(*Measured) {},
		"not valid, measure again": func(m *Measured) { m.Invalid = "why" },
		"99 acquires or round trips show no percentile: measure until there are 100": func(m *Measured) { m.Rounds = m.Rounds[:99] },
		"a tenth of the probes found no quorum": func(m *Measured) {
			m.Rounds = append([]Round{}, m.Rounds...)
			for i := range 201 {
				m.Rounds[i] = Round{At: m.Rounds[i].At, Trips: []time.Duration{-1, -1, ms}}
			}
		},
	} {
		m := m
		change(&m)
		s := Size(m, holding(ms, 0))
		require.Contains(t, s.Lacks, want)
		require.Equal(t, want == "", s.Advised())
	}
}

func TestStolenIsTheMostThatPausesTakeFromAnyStretchOfWork(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		var pauses []Moment
		at := time.Duration(0)
		for range rng.IntN(8) {
			at += time.Duration(1 + rng.IntN(30))
			one := Moment{At: at, Took: time.Duration(1 + rng.IntN(20))}
			pauses = append(pauses, one)
			at += one.Took
		}
		work := time.Duration(rng.IntN(60))
		want := time.Duration(0)
		for begin := time.Duration(0); begin <= at; begin++ {
			end := begin + work
			for _, p := range pauses {
				if p.At >= begin && p.At <= end {
					end += p.Took
				}
			}
			want = max(want, end-begin-work)
		}
		require.Equal(t, want, Measured{Watched: time.Hour, Pauses: pauses}.stolen(work))
	}
}

func TestHoldsThatAreLongerThanTheMeasurementMeetItsPausesAgain(t *testing.T) {
	m := Measured{Watched: 100, Pauses: []Moment{{50, 20}}}
	for work, want := range map[time.Duration]time.Duration{80: 20, 81: 40, 159: 40, 160: 60} {
		require.Equal(t, want, m.stolen(work), work)
	}
}

func TestAPauseCountsAsFarAsItLiesWithinATime(t *testing.T) {
	m := Measured{Pauses: []Moment{{0, 10}, {20, 10}, {40, 10}}}
	for _, c := range []struct{ from, to, want time.Duration }{
		{0, 60, 30}, {5, 45, 20}, {10, 20, 0}, {9, 21, 2}, {22, 25, 3}, {25, 25, 0}, {50, 90, 0},
	} {
		require.Equal(t, c.want, m.Paused(c.from, c.to-c.from), c)
	}
}
