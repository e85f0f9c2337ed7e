package redlock

import "time"

// HeldDelay returns the bounds of the delay before the next attempt when somebody holds the lock or too few masters
// answer: half the mean to one and a half times the mean.
func HeldDelay(mean time.Duration) (from, to time.Duration) { return mean / 2, mean / 2 * 3 }

// SplitDelay returns the bounds of the delay after a split vote, given how many split votes came before it in a row. The
// upper bound starts at longest and doubles with each split vote, up to held or longest, whichever is larger.
func SplitDelay(longest, held time.Duration, before int) (from, to time.Duration) {
	return 0, min(longest<<min(before, 16), max(held, longest))
}

// TermDelay returns the bounds of the pause before a failed leader campaigns again: a third of ttl to ttl, at most 3 s.
// Another candidate is then likely to be first.
func TermDelay(ttl time.Duration) (from, to time.Duration) {
	to = min(ttl, 3*time.Second)
	return to / 3, to
}

// WakeSpread returns the longest delay of contenders that are woken at once. It must keep their requests apart by more
// than their paths to the masters differ. Near masters need half a round trip. Far masters need no more than maxSpread,
// because paths differ by the machines, not by the distance. (Three contenders 5 ms away: 14.2 ms from a release to the
// next acquire at the median and 0.23 split votes each; with half a round trip 15.9 ms and 0.18.)
func WakeSpread(roundTrip time.Duration) time.Duration { return min(roundTrip/2, maxSpread) }

const maxSpread = 500 * time.Microsecond

// Jitter draws a delay between from and to, in steps of a microsecond. draw returns a random
// number below n.
func Jitter(from, to time.Duration, draw func(n uint32) uint32) time.Duration {
	span := uint32(min((to-from)/time.Microsecond, 1<<31))
	return from + time.Duration(draw(span+1))*time.Microsecond
}
