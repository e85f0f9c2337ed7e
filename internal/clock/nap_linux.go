package clock

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// slack is by how much the kernel lets a short sleep grow.
const slack = 50 * time.Microsecond

// Nap sleeps for about d, which is to be well below a millisecond: a timer of an idle Go
// process would round it up to one. It holds an operating system thread meanwhile.
func Nap(d time.Duration) {
	if d -= slack; d <= 0 {
		runtime.Gosched()
		return
	}
	left := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&left, nil) // a signal may end it early: it is only about d
}
