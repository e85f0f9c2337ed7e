package clock

import (
	"runtime"
	"time"
)

// slack is how much the kernel may prolong a short sleep.
const slack = 50 * time.Microsecond

// Nap sleeps for about d, and blocks a thread meanwhile. Use it for well below a millisecond: an idle Go process would
// round a timer up to one.
// In a synctest bubble it takes virtual time.
func Nap(d time.Duration) {
	if inBubble() {
		time.Sleep(d)
		return
	}
	if d -= slack; d <= 0 {
		runtime.Gosched()
		return
	}
	sleepThread(d) // a signal may end it early, which "about" allows
}
