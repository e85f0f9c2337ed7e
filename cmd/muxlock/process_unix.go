//go:build unix && !linux

package main

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// raiseStop does what it does on Linux. Where the kernel does not stop muxlock, it returns after stopTime.
func raiseStop() {
	_ = unix.Kill(unix.Getpid(), unix.SIGTTOU)
	time.Sleep(stopTime) // another thread may get the signal; the SIGCONT that follows cancels one still pending
}

// ignored reports whether a signal is ignored, as far as the runtime knows.
func ignored(s os.Signal) bool { return signal.Ignored(s) }

// reapOrphans does nothing: process 1 of this system is no muxlock.
func reapOrphans() {}
