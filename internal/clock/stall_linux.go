package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// sharpen makes the sleeps of this thread end on time. Otherwise the kernel prolongs them by up to slack.
func sharpen() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleepThread sleeps in the kernel: an idle process rounds Go timers up by as much as 1 ms.
func sleepThread(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&left, nil)
}
