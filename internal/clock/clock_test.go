package clock

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestElapsedIsTheClockThatWentFurther(t *testing.T) {
	start := Instant{int64(100 * time.Second), 1000}
	suspended := Instant{int64(101 * time.Second), 1000 + int64(time.Hour)}
	require.Equal(t, time.Hour, suspended.Sub(start))
	bubble := Instant{int64((100 + 60) * time.Second), 1000 + 5}
	require.Equal(t, time.Minute, bubble.Sub(start))
}

func TestWhatIsLeftIsByTheClockThatHasLess(t *testing.T) {
	deadline := Instant{int64(100 * time.Second), 1000}.Add(time.Minute)
	require.Equal(t, time.Minute, deadline.Left(Instant{int64(100 * time.Second), 1000}))
	require.Equal(t, time.Second, deadline.Left(Instant{int64(101 * time.Second), 1000 + int64(59*time.Second)}))
	require.Equal(t, time.Second, deadline.Left(Instant{int64(159 * time.Second), 1000}))
}

func TestInstantIsTheTimeThatItWas(t *testing.T) {
	i := Now()
	require.WithinDuration(t, time.Now(), i.Time(i), time.Minute)
	require.False(t, i.IsZero())
	require.True(t, Instant{}.IsZero())
	end := i.Add(time.Hour)
	require.Equal(t, time.Hour, end.Time(i).Sub(i.Time(i)))
	require.Equal(t, end.Time(i), end.Time(i.Add(time.Minute)), "wherever it is seen from")
	require.Equal(t, 50*time.Minute, end.Time(i.AfterSuspend(10*time.Minute)).Sub(i.Time(i)), "it comes sooner by the time asleep")
}

func TestDeadlineIsReachedByEitherClock(t *testing.T) {
	deadline := Instant{int64(100 * time.Second), 1000}.Add(time.Minute)
	require.False(t, deadline.Reached(Instant{int64(159 * time.Second), 1000}))
	require.True(t, deadline.Reached(Instant{int64(160 * time.Second), 1000}))
	require.True(t, deadline.Reached(Instant{int64(101 * time.Second), 1001 + int64(time.Minute)}), "asleep in between")
}

func TestInstantsAreInTheOrderInWhichTheyComeThroughASuspend(t *testing.T) {
	start := Instant{int64(100 * time.Second), 1000}
	awake := start.AfterSuspend(time.Hour)
	require.Equal(t, time.Hour, awake.Sub(start))
	old, fresh := start.Add(time.Minute), awake.Add(time.Second)
	require.True(t, old.Reached(awake))
	require.True(t, old.Before(fresh), "it was over when the machine woke")
	require.False(t, fresh.Before(old))
	require.True(t, start.Before(start.Add(1)))
	require.False(t, start.Before(start))
}

func TestInstantTooFarAwayIsNeverReachedOrAlwaysWas(t *testing.T) {
	const forever = time.Duration(math.MaxInt64)
	now := Instant{int64(time.Hour), int64(24 * time.Hour)}
	virtual := Instant{-int64(time.Hour), -int64(time.Hour)} // in a bubble, which begins in the past
	for _, at := range []Instant{now, virtual} {
		for _, end := range []Instant{at.Add(forever), at.Add(forever).Add(time.Hour), at.Add(forever).Add(forever)} {
			require.False(t, end.Reached(at.Add(time.Hour)))
			require.False(t, end.Before(at))
			for _, now := range []Instant{at, virtual, at.Add(time.Hour)} {
				require.Greater(t, end.Left(now), forever/2)
				require.Greater(t, end.Sub(now), forever/2)
				require.Less(t, now.Left(end), -forever/2)
			}
		}
		for _, begin := range []Instant{at.Add(-forever), at.Add(math.MinInt64), at.Add(-forever).Add(-forever)} {
			require.True(t, begin.Reached(at))
			require.True(t, begin.Before(at))
			require.Less(t, begin.Left(at), -forever/2)
			require.Greater(t, at.Sub(begin), forever/2)
		}
	}
}

// machine is a computer with its three clocks. Its time.Time carries no monotonic
// reading, so zero is subtracted on the wall clock; only differences matter.
type machine struct {
	mono, wall, boot int64
	reads            int
}

func (m *machine) run(d time.Duration)   { m.mono += int64(d); m.wall += int64(d); m.boot += int64(d) }
func (m *machine) sleep(d time.Duration) { m.wall += int64(d); m.boot += int64(d) }
func (m *machine) set(d time.Duration)   { m.wall += int64(d) }

func (m *machine) read() (mono, wall int64) { return m.mono, m.wall }

// at returns the instant of now. stop happens between the readings of the clocks.
func (m *machine) at(s *sleeper, stop func()) Instant {
	return s.now(m.read, func() int64 {
		m.reads++
		stop()
		return m.boot
	})
}

func (m *machine) bootAt(s *sleeper) int64 { return m.at(s, func() {}).boot }

func TestReadingsThatWereTornApartAreNotKept(t *testing.T) {
	for name, torn := range map[string]func(m *machine, d time.Duration){
		"the process was stopped": (*machine).run,
		"the machine was asleep":  (*machine).sleep,
		"the clock was set":       (*machine).set,
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range []time.Duration{tolerance2, 300 * time.Millisecond, time.Hour} {
				m := &machine{mono: 5e9, wall: 1.7e18, boot: 7e9}
				var s sleeper
				first := m.at(&s, func() { torn(m, d) })
				lease := m.at(&s, func() {}).Add(10 * time.Second)
				m.sleep(10200 * time.Millisecond)
				now := m.at(&s, func() {})
				require.True(t, lease.Reached(now), "asleep for longer than the lease")
				require.GreaterOrEqual(t, now.Sub(first), 10200*time.Millisecond)
				require.InDelta(t, m.boot, now.boot, float64(tolerance))
			}
		})
	}
}

func TestBoottimeIsKnownWithoutAskingAndAskedForAfterAJump(t *testing.T) {
	m := &machine{mono: 5e9, wall: 1.7e18, boot: 7e9}
	var s sleeper
	check := func(reads int, why string) {
		t.Helper()
		require.InDelta(t, m.boot, m.bootAt(&s), float64(tolerance), why)
		require.Equal(t, reads, m.reads, why)
	}
	check(1, "first")
	m.run(time.Hour)
	check(1, "an hour of running")
	m.sleep(3 * time.Second)
	check(2, "asleep")
	check(2, "awake again")
	m.set(-time.Hour)
	check(3, "the clock was set")
	m.sleep(tolerance2)
	check(4, "a short sleep")
	m.set(1000)
	check(4, "readings a microsecond apart")
}

const tolerance2 = time.Duration(2 * tolerance)

func TestWithoutBoottimeThereIsNone(t *testing.T) {
	var s sleeper
	require.Equal(t, Instant{1, 1}, s.now(func() (int64, int64) { return 1, 2 }, func() int64 { return 0 }))
	require.Nil(t, s.seen.Load())
}

func TestNowAgreesWithTheKernel(t *testing.T) {
	for range 1000 {
		before := Boottime()
		now := Now()
		after := Boottime()
		require.LessOrEqual(t, before-tolerance, now.boot)
		require.LessOrEqual(t, now.boot, after+tolerance)
	}
}

func TestWhatABubbleLearnsHoldsForNobodyElse(t *testing.T) {
	if Boottime() == 0 {
		t.Skip("there is no CLOCK_BOOTTIME")
	}
	var s sleeper
	now := func() Instant { return s.now(goClocks, boottime) }
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Minute)
		now()
	})
	synctest.Test(t, func(t *testing.T) { // begins a minute before that
		end := now().Add(10 * time.Second)
		s.seen.Store(nil) // as a reading outside does
		require.Equal(t, 10*time.Second, end.Left(now()))
	})
	require.InDelta(t, Boottime(), now().boot, float64(time.Minute))
}

func BenchmarkNow(b *testing.B) {
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Now()
		}
	})
	b.Run("asked", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			last.seen.Store(nil)
			Now()
		}
	})
}

func TestANapInABubbleTakesVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{10 * time.Microsecond, 900 * time.Microsecond} {
			start := time.Now()
			Nap(d)
			require.Equal(t, d, time.Since(start))
		}
	})
}
