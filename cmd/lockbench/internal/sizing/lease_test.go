package sizing

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/internal/redlock"
)

func TestAnyTwoClocksMayDifferByWhatIsKnownAndTheErrors(t *testing.T) {
	const jump = 20 * ms
	for _, c := range []struct {
		watched    []bench.Clock
		rho, worst float64
		jump       time.Duration
		unseen     bool
	}{
		{nil, redlock.DefaultDrift, 0, 0, false},
		{[]bench.Clock{{PPM: 15_000.5}}, 0.016, 15_000.5, 0, false},
		{[]bench.Clock{{PPM: -14_999.5}}, 0.015, 14_999.5, 0, false},
		{[]bench.Clock{{PPM: 14_998, PPMError: 2}, {PPM: -999, PPMError: 2}}, 0.017, 15_000, 0, false},
		{[]bench.Clock{{PPM: -300, PPMError: 5}, {PPM: 10, JumpNs: int64(jump)}, {PPM: 20}}, redlock.DefaultDrift, 305, jump, false},
		{[]bench.Clock{{PPM: 20, PPMError: 5}, {PPMError: 1e6, JumpNs: int64(jump)}}, redlock.DefaultDrift, 25, jump, true},
		{[]bench.Clock{{PPM: -20_000, PPMError: 10_001}}, redlock.DefaultDrift, 0, 0, true},
		{[]bench.Clock{{PPM: 30_000, PPMError: 15_000}}, 0.045, 45_000, 0, false},
		{[]bench.Clock{{PPM: 600_000}}, mostDrift, 600_000, 0, false},
	} {
		require.Equal(t, clocks{rho: c.rho, c: redlock.Granularity + c.jump, jump: c.jump, worst: c.worst, unseen: c.unseen}, clocksOf(c.watched))
	}
}

func TestDriftCoversJumpsOfHalfAMillisecondAndMore(t *testing.T) {
	for _, c := range []struct {
		jump time.Duration
		want float64
	}{{0, 0.01}, {ms/2 - 1, 0.01}, {ms / 2, 0.0105}, {399_990 * time.Microsecond, 0.41}, {time.Second, 0.49}} {
		require.Equal(t, c.want, clocks{rho: 0.01, jump: c.jump}.drift(time.Second), c.jump)
	}
}

func TestALeaseIsLongEnoughForTheDriftThatAJumpNeeds(t *testing.T) {
	m := quiet()
	for _, jump := range []time.Duration{400 * time.Microsecond, 20 * ms, 2 * time.Second} {
		for _, ppm := range []float64{0, 30_000} {
			for _, ask := range []Ask{holding(ms), holding(time.Hour)} {
				m.Clocks = []bench.Clock{{PPM: ppm, JumpNs: int64(jump)}}
				c := Size(m, ask).Config
				require.GreaterOrEqual(t, (c.Drift-clocksOf(m.Clocks).rho)*float64(c.TTL)+float64(ms/2), float64(jump), "%s %v", jump, c)
			}
		}
	}
	m.Clocks = []bench.Clock{{PPM: 600_000, JumpNs: int64(ms)}}
	require.Positive(t, Size(m, holding(ms)).Config.TTL)
}

func TestPauseThatWasSeenCountsUnlessALongerOneIsAssumed(t *testing.T) {
	m := Measured{Pauses: []Moment{{At: 1, Took: 250 * ms}}}
	require.Equal(t, Part{Took: 500 * ms, From: Seen, N: 1, Longest: 250 * ms}, m.pause(ms, Ask{Pause: 500 * ms}))
	require.Equal(t, Part{Took: 501 * ms, From: Assumed, N: 1, Longest: 250 * ms}, m.pause(ms, Ask{Pause: 501 * ms}))
}

func TestLocksAreLostToLongHoldsUnlessRenewedAndToPausesThatWereNotSeen(t *testing.T) {
	m := Measured{Pauses: []Moment{}, Watched: 3 * time.Second}
	s := Sizes{Hold: Part{AtMost: 0.25}, Outage: Part{From: Seen}}
	hold, pause := m.lost(s, time.Second)
	require.Equal(t, 0.25, hold)
	require.InDelta(t, 1-math.Exp(-1), pause, 0.001, "three in the watched time")
	s.Config.Renew = true
	hold, _ = m.lost(s, time.Second)
	require.Zero(t, hold)
	_, pause = Measured{}.lost(s, time.Second)
	require.Equal(t, 1.0, pause, "nothing was watched")
}

// A renewed lock is lost to outages, too, and they are seen by probes alone.
func TestARenewedLockOfWhichOutagesWereNotWatchedHasNoBoundOnWhatIsLost(t *testing.T) {
	hold := bench.Fixed(time.Minute)
	ask := Ask{Eps: 1e-6, RTO: 10 * time.Second, Pause: 500 * ms, Hold: &hold}
	m, err := FromProcess(process())
	require.NoError(t, err)
	m.Watched = 100 * time.Hour
	require.True(t, Size(m, ask).Config.Renew)
	require.Equal(t, 1.0, Size(m, ask).LostPause)
	m.Rounds = quiet().Rounds
	require.Less(t, Size(m, ask).LostPause, 0.001, "probes saw no outage")
	m.Rounds = nil
	hold = bench.Fixed(time.Second)
	require.Less(t, Size(m, ask).LostPause, 0.001, "not renewed: an outage takes no lock")
}

// The longer a lock is held, the more pauses it meets.
func TestARenewedLockOfHoldsThatHadNoEndHasNoBoundOnWhatIsLost(t *testing.T) {
	m := quiet()
	m.Pauses = []Moment{{At: time.Second, Took: 300 * ms}}
	holds := func(censored int64) Times {
		return Count([]time.Duration{10 * ms, 700 * ms}, []int64{1999, 1}, censored)
	}
	m.Holds = holds(0)
	ask := Ask{Eps: 1e-6, RTO: 600 * ms, Pause: 300 * ms}
	require.True(t, Size(m, ask).Config.Renew)
	require.Less(t, Size(m, ask).LostPause, 0.01)
	m.Holds = holds(20)
	require.Equal(t, 1.0, Size(m, ask).LostPause)
	ask.Hold = holding(700 * ms).Hold
	require.True(t, Size(m, ask).Config.Renew)
	require.Less(t, Size(m, ask).LostPause, 0.11, "the hold is given")
}

func TestAQuorumIsTheAnswerOfAMajority(t *testing.T) {
	for _, c := range []struct {
		trips []time.Duration
		want  time.Duration
		ok    bool
	}{
		{[]time.Duration{3, 1, 2}, 2, true},
		{[]time.Duration{0, 5, -1}, 5, true},
		{[]time.Duration{-1, 5, -1}, 0, false},
	} {
		took, ok := Round{Trips: c.trips}.took(2)
		require.Equal(t, c.want, took)
		require.Equal(t, c.ok, ok)
	}
}

func TestOutagesAreProbesWithoutAQuorumInTime(t *testing.T) {
	m := Measured{Masters: 3, Pauses: []Moment{{290 * ms, 50 * ms}}}
	probe := func(at, took time.Duration) { m.Slow = append(m.Slow, Moment{At: at * ms, Took: took * ms}) }
	probe(100, 70)
	probe(150, -50) // until the next probe
	probe(300, 80)  // of which the holder was paused for 40
	probe(400, 50)
	probe(500, 90)
	probe(590, 51) // as the one before ends
	probe(642, 60)
	probe(650, 51)  // ends before
	probe(790, -10) // a probe every 10 ms
	probe(800, -10)
	require.Equal(t, []Moment{{100 * ms, 100 * ms}, {500 * ms, 141 * ms}, {642 * ms, 60 * ms}, {790 * ms, 20 * ms}}, m.outages(50*ms))
	o := m.outage(50 * ms)
	require.Equal(t, Part{Took: 282*ms + redlock.RedialWithin(282*ms), From: Seen, N: 4, Longest: 141 * ms}, o)
	require.Equal(t, Part{}, Measured{Slow: m.Slow[2:4], Pauses: m.Pauses}.outage(50*ms))
}

func TestProbesThatWereLostToAPauseOfTheHolderShowNoOutage(t *testing.T) {
	m := quiet()
	m.Pauses = []Moment{{At: 1001 * ms, Took: 1500 * ms}}
	m.Slow = []Moment{{At: 995 * ms, Took: -5 * ms}, {At: 1000 * ms, Took: -1510 * ms}} // the probe's timeout is 1 s
	o := m.outage(50 * ms)
	require.LessOrEqual(t, o.Longest, 15*ms, "the time between two probes around it, and in neither is the pause")
	m.Slow = []Moment{{At: time.Second, Took: 1600 * ms}}
	require.Equal(t, 100*ms, m.outage(50*ms).Longest, "the answer was late by as much")
	m.Slow = []Moment{{At: 995 * ms, Took: -5 * ms}, {At: 1000 * ms, Took: -3 * time.Second}}
	require.Equal(t, 1505*ms, m.outage(50*ms).Longest, "it went on after the pause")
}

// A busy machine pauses the holder for some ms all the time.
func TestShortPausesDoNotCutAnOutageIntoPieces(t *testing.T) {
	m := quiet()
	for at := 5 * time.Second; at < 10*time.Second; at += 10 * ms { // a probe every 10 ms
		m.Slow = append(m.Slow, Moment{At: at, Took: -10 * ms})
	}
	for at := time.Duration(0); at < m.Watched; at += 50 * ms {
		m.Pauses = append(m.Pauses, Moment{At: at + 3*ms, Took: 2 * ms})
	}
	o := m.outage(50 * ms)
	require.EqualValues(t, 1, o.N)
	require.Equal(t, 4800*ms, o.Longest, "of 5 s, less the pauses in it")
}

func TestAPauseCountsAsFarAsItLiesWithinATime(t *testing.T) {
	m := Measured{Pauses: []Moment{{0, 10}, {20, 10}, {40, 10}}}
	for _, c := range []struct{ from, to, want time.Duration }{
		{0, 60, 30}, {5, 45, 20}, {10, 20, 0}, {9, 21, 2}, {22, 25, 3}, {25, 25, 0}, {50, 90, 0},
	} {
		require.Equal(t, c.want, m.paused(Moment{c.from, c.to - c.from}), c)
	}
}
