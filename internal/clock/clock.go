// Package clock measures elapsed time in a way that holds through a suspend of
// the machine. Go's monotonic clock stands still while a laptop sleeps or a
// virtual machine is paused, the masters' clocks do not, and a lease would seem
// to live on. So an Instant carries both the monotonic clock and, on Linux,
// CLOCK_BOOTTIME, and elapsed time is the larger of the two.
package clock

import "time"

// Instant is a point in time of this process. The zero value is no instant.
type Instant struct {
	wall time.Time // with its monotonic reading
	boot int64     // CLOCK_BOOTTIME in ns; 0 where there is none
}

// Now reads both clocks.
func Now() Instant { return Instant{time.Now(), boottime()} }

// Add returns the instant d after i.
func (i Instant) Add(d time.Duration) Instant {
	return Instant{i.wall.Add(d), i.boot + int64(d)}
}

// Sub returns the time elapsed from earlier to i by the clock that went further.
func (i Instant) Sub(earlier Instant) time.Duration {
	return max(i.wall.Sub(earlier.wall), time.Duration(i.boot-earlier.boot))
}

// Reached reports whether now is at or past i by either clock.
func (i Instant) Reached(now Instant) bool {
	return !now.wall.Before(i.wall) || now.boot > i.boot
}

// Time returns i as a time.Time for people and timers.
func (i Instant) Time() time.Time { return i.wall }
