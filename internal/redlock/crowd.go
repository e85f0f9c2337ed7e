package redlock

import "time"

// A Crowd is how far a contender keeps away from the others that want its name: binary
// exponential backoff, as on a wire that many share. The zero value is for nobody.
//
// All who wait for a name are woken at once. Few of them are kept apart by WakeSpread. Of
// many, some ask before the first is through, and split the vote; undoing that wakes all of
// them again. It shows by a split vote after which the name is free sooner than somebody
// could have held it. Each widens the window that the next delay is drawn from four times; a
// name that was held takes back half a doubling.
type Crowd struct {
	halves int           // of doublings
	split  bool          // the last attempt had some of the votes
	trip   time.Duration // what attempts take of late
}

const (
	mostHalves    = 12 // 64 attempts could follow each other
	longestWindow = 2 * time.Second
)

// Lost notes an attempt that took so long and was refused, with split by not all masters. At its
// widest the window becomes narrow again, or who has waited for longest would ask most
// seldom.
func (c *Crowd) Lost(took time.Duration, split bool) {
	c.trip, c.split = max(took, c.trip/4*3), split
	if c.halves == mostHalves {
		c.halves /= 2
	}
}

// Woken notes for how long the name was not free after that.
func (c *Crowd) Woken(after time.Duration) {
	switch {
	case c.Held(after):
		c.halves = max(c.halves-1, 0)
	case c.split: // else it may have been held for nearly as long when this one asked
		c.halves = min(c.halves+4, mostHalves)
	case c.halves >= 4: // of a crowd that is known already, others have split it
		c.halves = min(c.halves+1, mostHalves)
	}
}

// Held reports whether a name that was not free for so long was held: an attempt and its
// undoing take less.
func (c *Crowd) Held(after time.Duration) bool { return after >= 2*c.trip }

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
