package bench

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper waits for the next arrival more exactly than a Go timer can: the
// scheduler rounds an idle wait below 1 ms up to 1 ms, which would show as
// response time in every open loop. A timerfd in the network poller wakes within
// some tens of microseconds, costs one goroutine and no thread. One goroutine
// at a time may use it.
type sleeper struct {
	stop  <-chan struct{}
	timer *time.Timer
	fd    int
	file  *os.File              // owns fd; nil: no timerfd, Go timers alone
	wait  syscall.RawConn       // of file: its errors are not wrapped, so a nap allocates nothing
	fired func(fd uintptr) bool // reads the timerfd; false: not yet
}

const (
	fine = 2 * time.Millisecond // below it the timerfd waits
	// shortestNap keeps a high rate from arming the timer for every arrival: at
	// 50,000/s it saves a quarter of the CPU for 13 us more at the median.
	shortestNap = 50 * time.Microsecond
	grace       = 100 * time.Microsecond // a Go timer ends the wait when the poller is that late: it is polled last on a busy machine
)

// newSleeper makes a sleeper whose naps end early when stop is closed. It must be
// closed. With exact unset it uses Go timers alone, as virtual time needs.
func newSleeper(stop <-chan struct{}, exact bool) *sleeper {
	s := &sleeper{stop: stop, timer: newStoppedTimer()}
	if !exact {
		return s
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return s
	}
	s.fd, s.file = fd, os.NewFile(uintptr(fd), "timerfd")
	if s.wait, err = s.file.SyscallConn(); err != nil {
		s.close()
		s.file = nil
		return s
	}
	var expirations [8]byte
	s.fired = func(fd uintptr) bool {
		_, err := unix.Read(int(fd), expirations[:])
		return err != unix.EAGAIN
	}
	return s
}

// nap sleeps about ns: who calls looks at the clock again.
func (s *sleeper) nap(ns int64) {
	d := time.Duration(ns)
	if s.file == nil || d > fine {
		if s.file != nil {
			d -= fine / 2
		}
		pause(s.timer, d, s.stop)
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(ns, int64(shortestNap)))}
	if unix.TimerfdSettime(s.fd, 0, &spec, nil) != nil || s.file.SetReadDeadline(time.Now().Add(d+grace)) != nil {
		pause(s.timer, d, s.stop)
		return
	}
	_ = s.wait.Read(s.fired) // early or late, the caller's clock decides
}

func (s *sleeper) close() {
	if s.file != nil {
		s.file.Close()
	}
}
