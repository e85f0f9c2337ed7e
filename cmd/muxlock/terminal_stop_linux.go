package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// raiseStop returns when muxlock was stopped and continued, or at once where the kernel does not stop it: it
// discards this signal for the first process of a container, and for a process group that no shell controls, as
// that of ssh -t. It is not SIGTSTP, which the runtime keeps a handler for, and not SIGSTOP, which stops any group.
func raiseStop() {
	runtime.LockOSThread() // a thread's own signal comes before it goes on
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGTTOU)
}
