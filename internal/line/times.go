package line

import "time"

// A lease that is passed on is short: its new holder may be gone. It has the same length whatever the age of the entry, and
// validity counts from before the entry was sent. So it is passed only to an entry of up to half that age. It is no longer
// than two thirds of the ttl: masters of an earlier version add the age of the entry, and the sum is at most ttl, too.

const (
	// LeastTTL is the least lease of a waiter in line: of a shorter one too little is left.
	LeastTTL = 10 * time.Millisecond

	// ShortHold is for how long a lock is held or awaited before that costs a command: most holds are over by then.
	ShortHold = 5 * time.Millisecond
	// OpenFor is for how long a holder leaves the name to strangers: waiters that are told so delay by it.
	OpenFor = 10 * time.Millisecond

	shortestStray = 2 * time.Millisecond // a waiter waits for missing grants
	longestStray  = 300 * time.Millisecond

	leastStay    = 8 * time.Millisecond
	shortestStay = 500 * time.Millisecond
	longestStay  = time.Second // nobody sleeps beside a free name for longer, though he does not know that he is the first

	longestPassed = 2 * longestStay * 6 / 5 // an entry is fresh for a fifth longer than the longest stay
)

// Passed returns the lease that may be passed to a waiter.
func Passed(ttl time.Duration) time.Duration { return min(ttl/3*2, longestPassed) }

// stale returns the greatest age of an entry that a lock is passed to.
func stale(ttl time.Duration) time.Duration { return Passed(ttl) / 2 }

// stayAfter returns how long after a request a waiter sends the next one, unless it has reason to send it sooner. A ttl
// below 48 ms, six times the least stay, is for near masters: the entry is stale before the next request, for a part of the time.
func stayAfter(waited, ttl time.Duration) time.Duration {
	return max(leastStay, min(max(shortestStay, waited/4), longestStay, ttl/6))
}
