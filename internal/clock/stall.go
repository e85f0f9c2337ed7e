package clock

import (
	"runtime"
	"time"
)

// WatchStalls sleeps a period at a time, until stop is closed, and calls woke with when
// each sleep was due to end and how much too late it did: what the machine, the scheduler
// and the garbage collector may take from anybody at that moment, a suspend included. The
// way is that of jHiccup (Gil Tene). It takes the thread of its goroutine for good.
//
// 100 wake-ups a second cost 1 % of a core. 1000, as jHiccup has, cost ten times that in
// a Go process, whose monitor looks around every 20 us as long as a thread is in a call.
// Nothing longer than the period is missed that way; of what is shorter a sample is seen.
//
// In a synctest bubble it sees nothing: virtual time would wait for a thread that sleeps.
func WatchStalls(period time.Duration, stop <-chan struct{}, woke func(due Instant, late time.Duration)) {
	if inBubble() {
		<-stop
		return
	}
	runtime.LockOSThread() // the thread ends with the goroutine
	sharpen()
	for {
		select {
		case <-stop:
			return
		default:
		}
		due := Now().Add(period)
		for left := period; left > 0; left = due.Left(Now()) { // a signal may end a sleep early
			sleepThread(left)
		}
		woke(due, Now().Sub(due))
	}
}
