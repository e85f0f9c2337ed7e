package redlock

import "time"

// Strangers are clients of other libraries that want a name. Nothing notifies them of a release: they
// ask again every so often, and find the name taken by somebody who was notified.

// MostGaps is how often in a row a contender leaves a free name to strangers, so that many of them
// do not keep it for ever.
const MostGaps = 4

// StrangersGap returns the bounds of the time for which a free name is left alone where strangers
// want it: an eighth to a quarter of the time for which a lease is handed over. Eight that ask
// every 20 ms find it free in four of five such gaps of the default.
func StrangersGap(handOverTime time.Duration) (from, to time.Duration) {
	return handOverTime / 8, handOverTime / 4
}
