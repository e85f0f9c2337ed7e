package child

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attr makes the kernel kill the child when the thread that forked it ends. run keeps that thread until the child is
// gone, so only the end of the whole parent kills the child.
func attr(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup, Pdeathsig: syscall.SIGKILL}
}

const (
	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)

// stopTime bounds how long SIGSTOP takes: each thread of the process stops when it next has a processor.
const stopTime = 30 * time.Second

// awaitStopped waits until SIGSTOP has taken effect. kill(2) may return before.
func awaitStopped(pid int) error {
	for begin := time.Now(); time.Since(begin) < stopTime; {
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
