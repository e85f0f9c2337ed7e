package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// raiseStop stops muxlock and returns when muxlock is continued. The kernel discards SIGTTOU for the first process of a
// container, and for a process group that no shell controls, as under ssh -t; raiseStop then returns at once. SIGTSTP
// would not do, because the runtime keeps a handler for it. SIGSTOP would stop any group.
func raiseStop() {
	runtime.LockOSThread() // a signal to the thread itself is delivered before the call returns
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGTTOU)
}
