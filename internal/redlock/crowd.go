package redlock

import "time"

// A Crowd keeps a contender apart from the other contenders for its name, by binary exponential backoff, as on a shared
// wire. The zero value knows no other contenders.
//
// A release wakes all contenders for a name at once. WakeSpread keeps a few of them apart. Among many, some ask before
// the first is done, and split the vote or are refused; undoing those attempts wakes all contenders again. A sign of a
// crowd is a name that is free sooner than anybody could have held it. One such wake-up says little, because the lock may
// have been held nearly as long before this contender asked; several in a row say more. So each one in a row widens the
// window for the next delay by half a doubling more than the one before. A name that was really held narrows the window
// by half a doubling.
type Crowd struct {
	halves int           // half doublings of the window
	soon   int           // wake-ups in a row that came too soon
	trip   time.Duration // recent duration of an attempt
}

const (
	mostHalves    = 10 // 32 attempts fit in the window
	longestWindow = 2 * time.Second
)

// Lost notes a refused attempt and how long it took.
func (c *Crowd) Lost(took time.Duration) { c.trip = max(took, c.trip/4*3) }

// Woken notes how long after the refusal the name became free.
func (c *Crowd) Woken(after time.Duration) {
	if c.Held(after) {
		c.soon, c.halves = 0, max(c.halves-1, 0)
		return
	}
	c.soon++
	c.halves = min(c.halves+c.soon, mostHalves)
}

// Held reports whether after is long enough for a real holder: two attempts in a row, and their undoing, take less.
func (c *Crowd) Held(after time.Duration) bool { return after >= 4*c.trip }

// Window returns the longest delay before the next attempt; the shortest is 0. Without a crowd it returns 0.
func (c *Crowd) Window() time.Duration {
	if c.halves < 2 {
		return 0
	}
	return min(c.trip<<(c.halves/2), longestWindow)
}

// Stale reports whether somebody else may hold the name after such a delay. The contender then looks before it asks.
func (c *Crowd) Stale(delay time.Duration) bool { return delay > 4*c.trip }
