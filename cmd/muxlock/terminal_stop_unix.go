//go:build unix && !linux

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// raiseStop is that of Linux, but returns stopTime later where muxlock is not stopped.
func raiseStop() {
	_ = unix.Kill(unix.Getpid(), unix.SIGTTOU)
	time.Sleep(stopTime) // another thread may get it; a SIGCONT takes it back if none has by then
}
