//go:build unix

package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the user and system time of this process.
func cpuTime() time.Duration { return used(unix.RUSAGE_SELF) }

func used(who int) time.Duration {
	var u unix.Rusage
	if unix.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
