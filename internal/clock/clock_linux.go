package clock

import (
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Boottime returns CLOCK_BOOTTIME in ns, or 0 if it cannot be read.
func Boottime() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

// bootID names this start of the machine, and the time namespace: each namespace has its own CLOCK_BOOTTIME.
func bootID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || Boottime() == 0 {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/time")
	if err != nil { // a kernel without time namespaces
		namespace = "time"
	}
	return strings.TrimSpace(string(boot)) + "/" + namespace
}

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

// sharpen makes the sleeps of this thread end on time. Otherwise the kernel prolongs them by up to slack.
func sharpen() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleepThread sleeps in the kernel: an idle process rounds Go timers up by as much as 1 ms.
func sleepThread(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&left, nil)
}
