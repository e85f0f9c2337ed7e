package line

import "time"

const (
	// LeastTTL is the least lease of a waiter in line: with a shorter one it would ask too often.
	LeastTTL = 600 * time.Millisecond

	longestPassed = 2 * time.Second
	shortestStay  = 500 * time.Millisecond
	longestStay   = time.Second // nobody sleeps beside a free name for longer, though he does not know that he is the first
)

// A lease that is passed on is short: its new holder may be gone. It lives for Passed(ttl), plus the age of the entry by
// the master's clock, at most Stale. The sum is at most ttl. So a master that forgot the lease waits long enough before it
// votes. Validity counts from before the entry was sent, and some is left.

// Passed returns the lease that may be passed to a waiter, without the age of its entry: the master adds that.
func Passed(ttl time.Duration) time.Duration { return min(ttl/2, longestPassed) }

// StayAfter returns how long after a request a waiter sends the next one, unless it has reason to send it sooner.
func StayAfter(waited, ttl time.Duration) time.Duration {
	return min(max(shortestStay, waited/4), longestStay, ttl/6)
}

// Stale returns the greatest age of an entry whose owner sends the next request after stay.
func Stale(stay time.Duration) time.Duration { return 3 * stay }
