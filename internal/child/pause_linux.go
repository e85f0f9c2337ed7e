package child

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)

// awaitStopped waits for a second at most until SIGSTOP has taken effect. kill(2) may return before.
func awaitStopped(pid int) error {
	for range 1000 {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if info.Signo != 0 {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("child: process does not stop")
}
