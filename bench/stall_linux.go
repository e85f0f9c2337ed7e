package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU returns the user and system time of this thread.
func threadCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
