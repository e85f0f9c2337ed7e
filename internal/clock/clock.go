// Package clock measures elapsed time in a way that holds through a suspend of
// the machine. Go's monotonic clock stands still while a laptop sleeps or a
// virtual machine is paused, the masters' clocks do not, and a lease would seem
// to live on. So an Instant carries both the monotonic clock and, on Linux,
// CLOCK_BOOTTIME, and elapsed time is the larger of the two.
//
// On Windows Go's monotonic clock goes on by itself (it is the interrupt time). On macOS it
// stands still (mach_absolute_time), and nothing here makes up for that.
package clock

import (
	"math"
	"sync/atomic"
	"time"
)

// Instant is a point in time of this process. The zero value is no instant.
type Instant struct {
	mono int64 // ns since zero by the monotonic clock
	boot int64 // CLOCK_BOOTTIME in ns; mono where there is none
}

// Now reads the clocks.
func Now() Instant { return last.now(goClocks, boottime) }

// goClocks returns the monotonic clock since zero, and the wall clock.
func goClocks() (mono, wall int64) {
	t := time.Now()
	return int64(t.Sub(zero)), t.UnixNano()
}

// boottime is Boottime, but 0 in a bubble.
func boottime() int64 {
	if inBubble() {
		return 0
	}
	return Boottime()
}

// inBubble reports whether the caller is in a synctest bubble: times have no monotonic
// reading there.
func inBubble() bool {
	now := time.Now()
	return now == now.Round(0)
}

// Add returns the instant d after i, or the last or the first that there is. The last is not
// reached in any process's life.
func (i Instant) Add(d time.Duration) Instant {
	return Instant{plus(i.mono, int64(d)), plus(i.boot, int64(d))}
}

// Sub returns the time elapsed from earlier to i by the clock that went further.
func (i Instant) Sub(earlier Instant) time.Duration {
	return time.Duration(max(minus(i.mono, earlier.mono), minus(i.boot, earlier.boot)))
}

// Left returns the time that is left from now to i, by the clock that has less.
func (i Instant) Left(now Instant) time.Duration {
	return time.Duration(min(minus(i.mono, now.mono), minus(i.boot, now.boot)))
}

// Reached reports whether now is at or past i by either clock.
func (i Instant) Reached(now Instant) bool {
	return now.mono >= i.mono || now.boot > i.boot
}

// Before reports whether i comes before other: by CLOCK_BOOTTIME, since an instant from before
// a suspend may come later by the monotonic clock. It is for putting instants in order; whether
// one is over is Reached's to say.
func (i Instant) Before(other Instant) bool { return i.boot < other.boot }

// AfterSuspend returns what Now would, were i now and the machine to sleep for d. For tests.
func (i Instant) AfterSuspend(d time.Duration) Instant { return Instant{i.mono, i.boot + int64(d)} }

// IsZero reports whether i is no instant.
func (i Instant) IsZero() bool { return i == Instant{} }

// Time returns i, seen from now, as a time.Time for people and timers: sooner by what the machine
// slept between them. Its wall clock is the one of when this process began, carried on.
func (i Instant) Time(now Instant) time.Time {
	asleep := minus(i.mono, now.mono) - int64(i.Left(now))
	return zero.Add(time.Duration(i.mono - asleep))
}

// A sleeper knows how far CLOCK_BOOTTIME is ahead of the monotonic clock without
// asking for it each time: time.Now reads the wall and the monotonic clock from
// memory, CLOCK_BOOTTIME is a system call four times as dear (BenchmarkNow).
//
// When the kernel resumes it adds the time asleep to the wall clock and to
// CLOCK_BOOTTIME, by the same amount, and not to the monotonic clock. So as long as
// the wall clock has kept its distance from the monotonic clock, so has
// CLOCK_BOOTTIME. The distance changes too when somebody sets the wall clock, which
// costs one reading. Slewing moves all three alike. It is read again every day all the
// same. In a synctest bubble there is no CLOCK_BOOTTIME (boottime): time is virtual there,
// and what one bubble learned would be years, or an hour, away from the time of another.
type sleeper struct{ seen atomic.Pointer[distance] }

// distance of two clocks from the monotonic clock, read together at mono.
type distance struct{ mono, wall, boot int64 }

// holds reports whether the distance can be relied on at mono, where the wall clock is that
// far from the monotonic clock.
func (d *distance) holds(mono, wall int64) bool {
	age := time.Duration(mono - d.mono)
	return age.Abs() < 24*time.Hour && near(wall, d.wall)
}

// tolerance is by how much two readings of the same distance may differ, because
// the clocks are read one after the other. It is far below the allowance of a lease.
const tolerance = int64(100 * time.Microsecond)

var (
	last sleeper
	zero = time.Now().Add(-1) // of the monotonic clock
)

// now returns the instant at which it is called. Between two readings the process may be
// stopped, or the machine sleep, for any time: what is learned then of the distances holds
// for this instant, whose two clocks were both read during the call, and for no other. So
// it is kept only where a third reading shows that no time went by.
func (s *sleeper) now(clocks func() (mono, wall int64), boottime func() int64) Instant {
	mono, wall := clocks()
	wall -= mono
	if d := s.seen.Load(); d != nil && d.holds(mono, wall) {
		return Instant{mono, mono + d.boot}
	}
	boot := boottime()
	if boot == 0 {
		return Instant{mono, mono}
	}
	if later, wallLater := clocks(); near(later, mono) && near(wallLater-later, wall) {
		s.seen.Store(&distance{mono, wall, boot - mono})
	}
	return Instant{mono, boot}
}

func near(a, b int64) bool { return max(a-b, b-a) < tolerance }

// plus and minus return the end of the range where the result is beyond it.
func plus(a, b int64) int64 {
	if sum := a + b; (a < 0) != (b < 0) || (sum < 0) == (a < 0) {
		return sum
	}
	return furthest(a)
}

func minus(a, b int64) int64 {
	if d := a - b; (a < 0) == (b < 0) || (d < 0) == (a < 0) {
		return d
	}
	return furthest(a)
}

func furthest(a int64) int64 {
	if a < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}
