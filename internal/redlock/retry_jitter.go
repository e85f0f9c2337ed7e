package redlock

import "time"

// HeldDelay returns the bounds of the delay before the next attempt when somebody holds the
// lock or too few masters answer: half of mean to one and a half times mean.
func HeldDelay(mean time.Duration) (from, to time.Duration) { return mean / 2, mean / 2 * 3 }

// SplitDelay returns the bounds of the delay after a split vote that follows before others
// in a row. It doubles with each of them, from longest up to held, and is never bounded
// below longest.
func SplitDelay(longest, held time.Duration, before int) (from, to time.Duration) {
	return 0, min(longest<<min(before, 16), max(held, longest))
}

// TermDelay returns the bounds of the pause of a leader that failed, before it campaigns again: a
// third of ttl to ttl, so that another candidate is likely to be first, and never long.
func TermDelay(ttl time.Duration) (from, to time.Duration) {
	to = min(ttl, 3*time.Second)
	return to / 3, to
}

// WakeSpread returns the longest delay of contenders that are woken at once. It keeps their
// requests apart by more than their paths to the masters differ: for near masters half a
// round trip, for far ones no more than maxSpread, since it is the machines that make the
// difference and not the distance. (Three contenders 5 ms away: 14.2 ms from a release to
// the next acquire at the median, 15.9 with half a round trip; 0.23 split votes each, not
// 0.18.)
func WakeSpread(roundTrip time.Duration) time.Duration { return min(roundTrip/2, maxSpread) }

const maxSpread = 500 * time.Microsecond

// Jitter draws a delay between from and to, in steps of a microsecond. draw returns a random
// number below n.
func Jitter(from, to time.Duration, draw func(n uint32) uint32) time.Duration {
	span := uint32(min((to-from)/time.Microsecond, 1<<31))
	return from + time.Duration(draw(span+1))*time.Microsecond
}
