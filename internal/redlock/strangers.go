package redlock

import "time"

// Strangers are clients of other libraries that want a name. Nothing notifies them of a release, so they poll, and find
// that a notified contender has taken the name.

// MostGaps is how often in a row a contender leaves a free name to strangers. Many strangers could otherwise keep the name
// for ever.
const MostGaps = 4

// StrangersGap returns the bounds of the time for which contenders leave a free name to strangers: an eighth to a quarter
// of handOverTime. With the default, eight strangers that poll every 20 ms find the name free in four of five gaps.
func StrangersGap(handOverTime time.Duration) (from, to time.Duration) {
	return handOverTime / 8, handOverTime / 4
}
