package clock

import "golang.org/x/sys/unix"

// Boottime returns CLOCK_BOOTTIME in ns, or 0 if it cannot be read.
func Boottime() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
