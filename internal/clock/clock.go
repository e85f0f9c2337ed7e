// Package clock measures elapsed time correctly even when the machine is suspended. Go's monotonic clock stops while a
// laptop sleeps or a virtual machine is paused. The masters' clocks go on, and a lease would seem to live on here. So an
// Instant carries the monotonic clock and, on Linux, CLOCK_BOOTTIME; elapsed time is the larger of the two.
//
// On Windows Go's monotonic clock (the interrupt time) counts a suspend. On macOS it does not (mach_absolute_time), and
// this package does not make up for it.
package clock

import (
	"math"
	"sync"
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

// inBubble reports whether the caller is in a synctest bubble, where times have no monotonic reading.
func inBubble() bool {
	now := time.Now()
	return now == now.Round(0)
}

// Add returns the instant d after i. Beyond the range it returns the first or last instant; no process lives that long.
func (i Instant) Add(d time.Duration) Instant {
	return Instant{plus(i.mono, int64(d)), plus(i.boot, int64(d))}
}

// Sub returns the time elapsed from earlier to i, by the clock that advanced more.
func (i Instant) Sub(earlier Instant) time.Duration {
	return time.Duration(max(minus(i.mono, earlier.mono), minus(i.boot, earlier.boot)))
}

// Left returns the time from now to i, by the clock that shows less.
func (i Instant) Left(now Instant) time.Duration {
	return time.Duration(min(minus(i.mono, now.mono), minus(i.boot, now.boot)))
}

// Reached reports whether now is at or past i by either clock.
func (i Instant) Reached(now Instant) bool {
	return now.mono >= i.mono || now.boot > i.boot
}

// Before reports whether i comes before other, by CLOCK_BOOTTIME: an instant before a suspend may come later by the
// monotonic clock. Use Before to order instants, and Reached to ask whether one has passed.
func (i Instant) Before(other Instant) bool { return i.boot < other.boot }

// Later returns the later of two instants, each of which may be none.
func Later(a, b Instant) Instant {
	if a.IsZero() || !b.IsZero() && a.Before(b) {
		return b
	}
	return a
}

// AfterSuspend returns what Now would return if the machine slept for d at i. It is for tests.
func (i Instant) AfterSuspend(d time.Duration) Instant { return Instant{i.mono, i.boot + int64(d)} }

// IsZero reports whether i is no instant.
func (i Instant) IsZero() bool { return i == Instant{} }

// Time returns i as a time.Time for people and timers. If the machine slept between i and now, Time returns an earlier
// time, by as much as it slept. The wall clock of the result continues from the start of this process.
func (i Instant) Time(now Instant) time.Time {
	asleep := minus(i.mono, now.mono) - int64(i.Left(now))
	return zero.Add(time.Duration(i.mono - asleep))
}

// Shared reads a clock that all processes of this machine share and nobody can set. id names the clock and changes when
// the machine restarts; now is how long it has run. The id is "" where there is no such clock, as in a synctest bubble.
func Shared() (id string, now time.Duration) {
	if inBubble() {
		return "", 0
	}
	return sharedID(), time.Duration(Boottime())
}

var sharedID = sync.OnceValue(bootID)

// A sleeper knows how far CLOCK_BOOTTIME is ahead of the monotonic clock, and rarely reads it. time.Now reads the wall
// and monotonic clocks from memory; CLOCK_BOOTTIME takes a system call, four times as expensive (BenchmarkNow).
//
// When the kernel resumes, it adds the time asleep to the wall clock and CLOCK_BOOTTIME alike, and not to the monotonic
// clock. So as long as the wall clock keeps its distance from the monotonic clock, CLOCK_BOOTTIME keeps its own. The
// distance also changes when somebody sets the wall clock, which costs one reading. Slewing moves all three alike; the
// sleeper still reads CLOCK_BOOTTIME once a day. In a synctest bubble boottime returns 0: time is virtual there, and the
// distances of one bubble would be years, or an hour, wrong in another.
type sleeper struct{ seen atomic.Pointer[distance] }

// distance is how far two clocks were ahead of the monotonic clock, all read together at mono.
type distance struct{ mono, wall, boot int64 }

// holds reports whether the distance is still right at mono, where wall is the wall clock's distance.
func (d *distance) holds(mono, wall int64) bool {
	age := time.Duration(mono - d.mono)
	return age.Abs() < 24*time.Hour && near(wall, d.wall)
}

// tolerance is how much two readings of the same distance may differ, because the clocks are read one after the other.
// It is far below the drift allowance of a lease.
const tolerance = int64(100 * time.Microsecond)

var (
	last sleeper
	zero = time.Now().Add(-1) // Instant.mono counts from here; earlier than any Now, so that no Now is zero
)

// now returns the instant of the call. Between two readings the process may stop, or the machine sleep, for any time. The
// distances are then right for this instant only, since both its clocks were read during the call. So now keeps them
// only if a third reading shows that no time has passed.
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

// plus and minus return the end of the range if the result is beyond it.
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
