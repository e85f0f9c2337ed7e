package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"

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

// ignored reports whether a signal is ignored. The runtime tells that of SIGHUP and SIGINT alone.
func ignored(s unix.Signal) bool {
	status, _ := os.ReadFile("/proc/self/status")
	_, mask, _ := strings.Cut(string(status), "\nSigIgn:\t")
	mask, _, _ = strings.Cut(mask, "\n")
	bits, _ := strconv.ParseUint(mask[max(0, len(mask)-16):], 16, 64) // 64 signals; MIPS has more
	return bits>>(s-1)&1 == 1
}
