package main

import (
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reapOrphans makes muxlock reap orphans from now on if it is process 1, whose children they become.
func reapOrphans() {
	if os.Getpid() != 1 {
		return
	}
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	go func() { // ends with the process
		for ; ; <-died {
			for reapOne() {
			}
		}
	}()
}

// reapOne reaps a child that has ended, and leaves the command to the one that waits for it. It returns false if there is
// none.
func reapOne() bool {
	running.Lock()
	defer running.Unlock()
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil || info.Signo == 0 {
		return false
	}
	pid := int((*childInfo)(unsafe.Pointer(&info)).child.pid)
	if c := running.command; c != nil && c.Process.Pid == pid {
		select {
		case <-c.ended: // so the number is another's by now
		default:
			<-c.ended
			return true
		}
	}
	_, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
	return err == nil || err == unix.ECHILD
}

// childInfo is the beginning of a unix.Siginfo about a child, as the kernel lays it out.
type childInfo struct {
	signo, errno, code int32
	child              struct {
		_   [0]uintptr // aligns the union that begins here
		pid int32
	}
}

// raiseStop stops muxlock and returns when muxlock is continued. The kernel discards SIGTTOU for the first process of a
// container, and for a process group that no shell controls, as under ssh -t; raiseStop then returns at once. SIGTSTP
// would not do, because the runtime keeps a handler for it. SIGSTOP would stop any group.
func raiseStop() {
	runtime.LockOSThread() // a signal to the thread itself is delivered before the call returns
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGTTOU)
}

// ignored reports whether a signal is ignored. The runtime tells that of SIGHUP and SIGINT alone.
func ignored(s unix.Signal) bool {
	status, _ := os.ReadFile("/proc/self/status")
	_, mask, _ := strings.Cut(string(status), "\nSigIgn:\t")
	mask, _, _ = strings.Cut(mask, "\n")
	bits, _ := strconv.ParseUint(mask[max(0, len(mask)-16):], 16, 64) // 64 signals; MIPS has more
	return bits>>(s-1)&1 == 1
}
