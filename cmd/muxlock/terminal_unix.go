//go:build unix

package main

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// inForeground reports whether the terminal's keys send signals to muxlock's process group.
func inForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// readInBackground makes a read from the terminal fail in a background job. A read that stops muxlock loses the lock.
func readInBackground() { signal.Ignore(unix.SIGTTIN) }

// stopKey returns the terminal's Ctrl-Z as signals (SIGTSTP), which no longer stop muxlock by themselves.
func stopKey() <-chan os.Signal {
	stops := make(chan os.Signal, 1)
	if !ignored(unix.SIGTSTP) {
		signal.Notify(stops, unix.SIGTSTP)
	}
	return stops
}

// messages returns signals whose meaning only the command knows.
func messages() <-chan os.Signal {
	all := make(chan os.Signal, 16)
	signal.Notify(all, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGWINCH)
	return all
}

// message passes one of messages on to the command alone, as if it had been sent there, unless the terminal has sent it to both.
func (p *process) message(s os.Signal) {
	if s != unix.SIGWINCH || p.terminal == nil || !inForeground(p.terminal) {
		_ = p.Process.Signal(s) // the command may have ended
	}
}

// stopTime is what a command gets after Ctrl-Z to restore the terminal's settings before it stops.
const stopTime = 100 * time.Millisecond

// stop acts on Ctrl-Z: it stops the command, then muxlock, until both are continued. It also stops a command that
// ignores Ctrl-Z or has its own session, because muxlock renews no lock while stopped. Where nobody could continue
// muxlock, both go on.
func (p *process) stop() {
	select {
	case <-p.ended:
		return
	case <-time.After(stopTime):
	}
	_ = p.signal(unix.SIGSTOP)
	raiseStop()
	_ = p.signal(unix.SIGCONT)
	_ = unix.Kill(0, unix.SIGCONT) // for processes that the command started
}
