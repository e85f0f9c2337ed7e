package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU is the user and system time that this thread has used.
func threadCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
