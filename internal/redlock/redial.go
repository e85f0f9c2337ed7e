package redlock

import "time"

// The pause before a master that went away is dialled again is drawn from half to one and
// a half times of what doubles from FirstRedial to LongestRedial.
const (
	FirstRedial   = 25 * time.Millisecond
	LongestRedial = time.Second
)

// RedialWithin returns how long after the end of an outage of that length a master is
// dialled at the latest: the pauses before this one add up to less than the outage.
func RedialWithin(outage time.Duration) time.Duration {
	_, latest := RedialDelay(min(outage+FirstRedial, LongestRedial))
	return latest
}

// RedialDelay returns the bounds of a pause of that mean.
func RedialDelay(mean time.Duration) (from, to time.Duration) { return mean / 2, mean / 2 * 3 }
