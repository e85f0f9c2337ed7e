package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU returns the user and system time of this thread.
func threadCPU() time.Duration { return used(unix.RUSAGE_THREAD) }
