//go:build unix && !linux

package main

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// raiseStop is that of Linux, but returns a moment later where muxlock is not stopped.
func raiseStop() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	_ = unix.Kill(unix.Getpid(), unix.SIGTTOU)
	select {
	case <-continued:
	case <-time.After(stopTime): // a SIGCONT takes back what has not stopped it yet
	}
}
