package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// sharpen lets the sleeps of this thread end when they are due: the kernel otherwise
// puts them off by up to slack.
func sharpen() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleepThread sleeps without the Go scheduler, whose timers an idle process rounds up by
// as much as 1 ms.
func sleepThread(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&left, nil)
}
