package line

import "time"

const (
	// LeastTTL is the least lease of those who stand in line: with a shorter one they would ask too often.
	LeastTTL = 600 * time.Millisecond

	longestPassed = 2 * time.Second
	shortestStay  = 500 * time.Millisecond
	longestStay   = time.Second // nobody sleeps beside a free name for longer, though he does not know that he is the first
)

// A lease that is passed on is short: its new holder may be gone. It lives for Passed(ttl), and for as long as the entry
// is old by the master's clock, which is at most Stale. Together they are at most ttl. So a master that forgot the lease
// waits long enough before it votes, and validity that counts from before the entry was sent is left.

// Passed returns the lease that a holder passes on, with the age of the entry added.
func Passed(ttl time.Duration) time.Duration { return min(ttl/2, longestPassed) }

// StayAfter returns how long after a request a waiter sends the next one, unless it has reason to send it sooner.
func StayAfter(waited, ttl time.Duration) time.Duration {
	return min(max(shortestStay, waited/4), longestStay, ttl/6)
}

// Stale returns how old an entry may be, whose owner sends the next request after that time.
func Stale(stay time.Duration) time.Duration { return 3 * stay }
