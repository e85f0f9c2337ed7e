//go:build unix && !linux

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// raiseStop does what it does on Linux. Where the kernel does not stop muxlock, it returns after stopTime.
func raiseStop() {
	_ = unix.Kill(unix.Getpid(), unix.SIGTTOU)
	time.Sleep(stopTime) // another thread may get the signal; the SIGCONT that follows cancels one still pending
}
