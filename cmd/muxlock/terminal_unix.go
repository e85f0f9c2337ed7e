//go:build unix

package main

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// inForeground reports whether the keys of the terminal send signals to our process group.
func inForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// readInBackground lets a read from the terminal fail that would stop a job in the background, with its lock.
func readInBackground() { signal.Ignore(unix.SIGTTIN) }

// stopKey takes over the SIGTSTPs of the terminal's Ctrl-Z.
func stopKey() <-chan os.Signal {
	stops := make(chan os.Signal, 1)
	if !signal.Ignored(unix.SIGTSTP) {
		signal.Notify(stops, unix.SIGTSTP)
	}
	return stops
}

// stopTime is for a command that leaves the terminal as it found it before it stops.
const stopTime = 100 * time.Millisecond

// stop stops the command, also one that ignored Ctrl-Z or is in a session of its own, and then
// muxlock, which renews the lock no more, until both are continued. Where nobody could do that both go on.
func (p *process) stop() {
	select {
	case <-p.ended:
		return
	case <-time.After(stopTime):
	}
	_ = p.signal(unix.SIGSTOP)
	raiseStop()
	_ = p.signal(unix.SIGCONT)
	_ = unix.Kill(0, unix.SIGCONT) // what the command has started
}
