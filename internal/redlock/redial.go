package redlock

import "time"

// The mean pause before a client dials a lost master again doubles from FirstRedial to LongestRedial. Each pause is drawn
// from half the mean to one and a half times the mean.
const (
	FirstRedial   = 25 * time.Millisecond
	LongestRedial = time.Second
)

// RedialWithin returns the longest time from the end of an outage until a client dials the master. The pauses before the
// last one add up to less than the outage.
func RedialWithin(outage time.Duration) time.Duration {
	_, latest := RedialDelay(min(outage+FirstRedial, LongestRedial))
	return latest
}

// RedialDelay returns the bounds of a pause with the given mean.
func RedialDelay(mean time.Duration) (from, to time.Duration) { return mean / 2, mean / 2 * 3 }
