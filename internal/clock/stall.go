package clock

import (
	"runtime"
	"time"
)

// WatchStalls sleeps a period at a time until stop is closed. After each sleep it calls woke with the time the sleep was
// due to end, and how late it ended. The machine, the scheduler, the garbage collector or a suspend would have delayed
// anybody else at that moment as much. The method is jHiccup's (Gil Tene). WatchStalls keeps its goroutine's thread.
//
// 100 wake-ups a second cost 1 % of a core. 1000, jHiccup's rate, cost ten times as much in a Go process: its monitor
// looks around every 20 us while a thread is in a call. WatchStalls sees every stall longer than the period, and a
// sample of the shorter ones. In a synctest bubble it sees none: virtual time would wait for a sleeping thread.
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
