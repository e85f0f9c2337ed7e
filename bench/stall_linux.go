package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// sharpen lets the sleeps of this thread end when they are due: the kernel otherwise
// puts them off by up to 50 us.
func sharpen() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleepThread sleeps without the Go scheduler, whose timers an idle process rounds up by
// as much as 1 ms.
func sleepThread(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&left, nil)
}

// threadCPU is the user and system time that this thread has used.
func threadCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
