package redlock

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestValidityIsRoundedAgainstTheHolder(t *testing.T) {
	require.Equal(t, time.Second-10*time.Millisecond-2*time.Millisecond-1, Validity(time.Second, 0, DefaultDrift))
	require.Equal(t, 5*time.Millisecond-2*time.Millisecond-1, Validity(5*time.Millisecond, 0, 0))
	require.Negative(t, Validity(time.Second, time.Second, 0))
	require.Negative(t, Validity(time.Second, time.Hour, 0.01))
	require.Negative(t, Validity(time.Millisecond, 0, 0.01))
	require.Negative(t, Validity(2*time.Millisecond, 0, 0), "all of it may be the masters' rounding")
	for ttl := time.Millisecond; ttl <= 365*24*time.Hour; ttl = ttl*3 + 1 {
		for _, drift := range []float64{0, 1e-9, 0.001, 0.01, 0.1, 1.0 / 3, math.Nextafter(0.5, 0)} {
			exact := float64(ttl)*drift + float64(2*time.Millisecond)
			require.GreaterOrEqual(t, float64(DriftAllowance(ttl, drift)), exact)
			require.LessOrEqual(t, float64(DriftAllowance(ttl, drift)), exact*(1+1e-9)+2)
			require.Less(t, Validity(ttl, 0, drift), ttl)
			require.Equal(t, Validity(ttl, 0, drift)-7, Validity(ttl, 7, drift))
		}
	}
}

func TestRestartWaitOutlastsTheLongestLeaseByASlowClock(t *testing.T) {
	require.Equal(t, 30*time.Second+300*time.Millisecond+2*time.Millisecond+1+time.Second, RestartWait(30*time.Second, 0.01))
}

func TestARenewalThatFailsEarlyLeavesTimeForADozenMore(t *testing.T) {
	const ttl = 10 * time.Second
	require.Equal(t, ttl/3, RenewalInterval(ttl))
	left := Validity(ttl, 0, DefaultDrift) - RenewalInterval(ttl)
	require.GreaterOrEqual(t, left/RenewalRetry(ttl), time.Duration(12))
	require.Equal(t, time.Millisecond, RenewalRetry(time.Millisecond), "a short lease is not asked for without a pause")
	require.Less(t, RenewalSlack(ttl), RenewalRetry(ttl), "what failed is not sent again at once")
}

func TestDelayWhileTheLockIsHeldHasTheGivenMean(t *testing.T) {
	from, to := HeldDelay(20 * time.Millisecond)
	require.Equal(t, 10*time.Millisecond, from)
	require.Equal(t, 30*time.Millisecond, to)
}

func TestSplitVotesDoubleTheDelayUpToTheHeldOne(t *testing.T) {
	upTo := func(longest, held time.Duration, before int) time.Duration {
		from, to := SplitDelay(longest, held, before)
		require.Zero(t, from)
		return to
	}
	for before, want := range []time.Duration{2, 4, 8, 16, 25, 25} {
		require.Equal(t, want*time.Millisecond, upTo(2*time.Millisecond, 25*time.Millisecond, before))
	}
	require.Equal(t, 8*time.Millisecond, upTo(8*time.Millisecond, time.Millisecond, 0), "never below the longest")
	require.Equal(t, time.Minute, upTo(time.Minute, time.Minute, 1<<20), "without overflow")
	require.Equal(t, time.Nanosecond<<16, upTo(1, time.Hour, 1<<20), "sixteen times at most")
}

func TestLeaderThatFailedPausesForAThirdOfItsLeaseToAllOfItAndNeverLong(t *testing.T) {
	for ttl, want := range map[time.Duration][]time.Duration{
		600 * time.Millisecond: {200 * time.Millisecond, 600 * time.Millisecond},
		3 * time.Second:        {time.Second, 3 * time.Second},
		time.Hour:              {time.Second, 3 * time.Second},
	} {
		from, to := TermDelay(ttl)
		require.Equal(t, want, []time.Duration{from, to}, ttl)
	}
}

func TestContendersThatAreWokenAtOnceSpreadByHalfARoundTrip(t *testing.T) {
	require.Equal(t, 50*time.Microsecond, WakeSpread(100*time.Microsecond))
	require.Equal(t, maxSpread, WakeSpread(time.Second))
	require.Zero(t, WakeSpread(0))
}

func TestJitterStaysBetweenItsBounds(t *testing.T) {
	for _, c := range [][2]time.Duration{
		{0, 0}, {0, 1}, {0, 999}, {0, time.Microsecond}, {10 * time.Millisecond, 30 * time.Millisecond},
		{30 * time.Second, 90 * time.Second}, {time.Minute, time.Minute}, {0, 2 * time.Hour},
	} {
		seen := make(map[time.Duration]bool)
		for range 1000 {
			d := Jitter(c[0], c[1], rand.Uint32N)
			require.GreaterOrEqual(t, d, c[0])
			require.LessOrEqual(t, d, c[1])
			seen[d] = true
		}
		if c[1]-c[0] > 10*time.Millisecond {
			require.Greater(t, len(seen), 100, "random")
		}
	}
	least := func(uint32) uint32 { return 0 }
	most := func(n uint32) uint32 { return n - 1 }
	require.Equal(t, 10*time.Millisecond, Jitter(10*time.Millisecond, 30*time.Millisecond, least))
	require.Equal(t, 30*time.Millisecond, Jitter(10*time.Millisecond, 30*time.Millisecond, most))
}

func TestEachTimeInARowWidensTheWindowByMoreAndEachHoldNarrowsItALittle(t *testing.T) {
	const trip = time.Millisecond
	var c Crowd
	require.Zero(t, c.Window())
	c.Lost(trip)
	require.Zero(t, c.Window())
	for _, want := range []time.Duration{0, 2, 8, 32, 32} {
		c.Woken(4*trip - 1)
		require.Equal(t, want*trip, c.Window(), "nobody held it for so short")
	}
	for _, want := range []time.Duration{16, 16, 8, 8, 4, 4, 2, 2, 0, 0} {
		c.Woken(4 * trip)
		require.Equal(t, want*trip, c.Window())
	}
	for range 9 {
		c.Woken(0)
		require.Zero(t, c.Window(), "once is no sign of a crowd")
		c.Woken(4 * trip)
		require.Zero(t, c.Window(), "the one who held it may have begun long ago")
	}
	require.False(t, c.Held(4*trip-1))
	require.True(t, c.Held(4*trip))
	require.False(t, c.Stale(4*trip))
	require.True(t, c.Stale(4*trip+1))
}

func TestAWindowIsNeverLongerThanTwoSeconds(t *testing.T) {
	var c Crowd
	for range 100 {
		c.Lost(time.Hour)
		c.Woken(0)
		require.LessOrEqual(t, c.Window(), 2*time.Second)
	}
}

func TestOneFastAttemptDoesNotNarrowTheWindowMuch(t *testing.T) {
	var c Crowd
	c.Lost(16 * time.Millisecond)
	c.Woken(0)
	c.Woken(0)
	for _, attempt := range []struct{ took, counts time.Duration }{{1, 12}, {1, 9}, {20, 20}} {
		c.Lost(attempt.took * time.Millisecond)
		require.Equal(t, 2*attempt.counts*time.Millisecond, c.Window())
	}
}

func TestLeaseIsHandedOverBelowBothBounds(t *testing.T) {
	require.True(t, MayHandOver(2, 3, 19*time.Millisecond, DefaultHandOverTime))
	require.False(t, MayHandOver(3, 3, 0, time.Hour))
	require.False(t, MayHandOver(4, 3, 0, time.Hour))
	require.False(t, MayHandOver(0, 3, 20*time.Millisecond, DefaultHandOverTime))
	require.False(t, MayHandOver(0, 3, time.Hour, DefaultHandOverTime))
}

func TestLostMasterIsDialledSoonAndAfterALongOutageWithinOneAndAHalfSeconds(t *testing.T) {
	from, to := RedialDelay(FirstRedial)
	require.Equal(t, 12500*time.Microsecond, from)
	require.Equal(t, 37500*time.Microsecond, to)
	require.Equal(t, to, RedialWithin(0))
	require.Equal(t, 187500*time.Microsecond, RedialWithin(100*time.Millisecond))
	require.Equal(t, 1500*time.Millisecond, RedialWithin(time.Hour))
}

func TestStrangersGetAPartOfTheHandOverTime(t *testing.T) {
	from, to := StrangersGap(DefaultHandOverTime)
	require.Equal(t, 2500*time.Microsecond, from)
	require.Equal(t, 5*time.Millisecond, to)
}
