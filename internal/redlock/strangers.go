package redlock

import "time"

// Strangers are clients of other libraries that want a name. Nothing notifies them of a release, so
// they ask again every so often, and somebody who is notified is always there before them.
// MostGaps is how often in a row a contender leaves a free name to them.
const MostGaps = 4

// StrangersGap returns the bounds of the time for which a free name is left alone where strangers
// want it: an eighth to a quarter of the time for which a lease is handed over. Eight of them that
// ask every 20 ms find it free in four of five such gaps of the default (measured: Package
// engine/redsync).
func StrangersGap(handOverTime time.Duration) (from, to time.Duration) {
	return handOverTime / 8, handOverTime / 4
}
