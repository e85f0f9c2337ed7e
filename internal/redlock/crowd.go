package redlock

import "time"

// A Crowd is how far a contender keeps away from the others that want its name: binary
// exponential backoff, as on a wire that many share. The zero value is for nobody.
//
// All who wait for a name are woken at once. Few of them are kept apart by WakeSpread. Of
// many, some ask before the first is through, and split the vote or are refused; undoing that
// wakes all of them again. It shows by a name that is free sooner than somebody could have
// held it. One such time says little, since the name may have been held for nearly as long
// when this one asked; several in a row say more. So each widens the window that the next
// delay is drawn from by half a doubling more than the one before, and a name that was held
// takes back half a doubling.
type Crowd struct {
	halves int           // of doublings
	soon   int           // times in a row
	trip   time.Duration // what attempts take of late
}

const (
	mostHalves    = 10 // 32 attempts could follow each other
	longestWindow = 2 * time.Second
)

// Lost notes an attempt that took so long and was refused.
func (c *Crowd) Lost(took time.Duration) { c.trip = max(took, c.trip/4*3) }

// Woken notes for how long the name was not free after that.
func (c *Crowd) Woken(after time.Duration) {
	if c.Held(after) {
		c.soon, c.halves = 0, max(c.halves-1, 0)
		return
	}
	c.soon++
	c.halves = min(c.halves+c.soon, mostHalves)
}

// Held reports whether a name that was not free for so long was held by one: two attempts one
// after the other, and their undoing, take less.
func (c *Crowd) Held(after time.Duration) bool { return after >= 4*c.trip }

// Window returns the longest delay before the next attempt, from 0; 0: no crowd.
func (c *Crowd) Window() time.Duration {
	if c.halves < 2 {
		return 0
	}
	return min(c.trip<<(c.halves/2), longestWindow)
}

// Stale reports whether somebody else may well hold the name after such a delay, so that it
// is looked at before it is asked for.
func (c *Crowd) Stale(delay time.Duration) bool { return delay > 4*c.trip }
