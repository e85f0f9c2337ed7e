package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"muxlock/internal/child"
)

// dyingTime is how long is waited for the end of processes that were killed: nobody may wait for
// them, and then they stay in their group.
const dyingTime = time.Second

// run runs the command under the lock, releases that when hold has passed, too, and returns how the
// command ended. It says on log what happens meanwhile, where no write may block: the lease is watched here.
func (h *held) run(c *exec.Cmd, signals <-chan os.Signal, grace, hold time.Duration, log io.Writer) error {
	name := h.lock.Name()
	over, signalled := context.WithTimeout(context.Background(), hold)
	defer signalled()
	expiring := make(chan struct{}, 1)
	err := cmp.Or(h.lock.KeepAlive(0), h.lock.WarnBefore(grace, func() {
		select {
		case expiring <- struct{}{}:
		default:
		}
	}))
	if err != nil {
		h.locks.Close()
		return exit{exitLost, fmt.Sprintf("%q was lost before the command was started: %s", name, err)}
	}
	p, err := start(c)
	if err != nil {
		h.release()
		return cannotRun(c.Args[0], err)
	}

	var kill <-chan time.Time // set once the lock is lost, or will be
	killed := false
	end := func(grace time.Duration, format string, args ...any) {
		if kill != nil {
			return
		}
		_ = p.signal(syscall.SIGTERM)
		kill = time.After(grace)
		say(log, "%q %s; the command gets SIGTERM, and SIGKILL in %s", name, fmt.Sprintf(format, args...), grace.Round(time.Millisecond))
	}
	for lost := h.lock.Done(); ; {
		select {
		case s := <-signals:
			p.pass(s)
			signalled()
		case <-p.stops:
			p.stop()
		case <-expiring:
			if left := time.Until(h.lock.Until()); left > 0 && left <= grace { // else it is lost by now, or a renewal was answered late
				on, total := h.lock.HeldOn()
				end(min(grace, left), "cannot be renewed, it is held on %d of %d masters", on, total)
			}
		case <-lost:
			lost = nil
			end(grace, "was lost: %s", h.lock.Err())
		case <-kill:
			killed = true
			_ = p.signal(syscall.SIGKILL)
		case <-p.ended:
			if killed { // what is left of the group is dead, or soon
				kill = time.After(dyingTime)
			}
			if kill != nil {
				p.endGroup(kill)
			} else {
				h.stay(over, signals, signalled)
			}
			if kill == nil && h.lock.Valid() && errors.Is(over.Err(), context.Canceled) {
				h.locks.Close() // the lease runs out by itself
			} else if lost := h.end(log); lost != nil || kill != nil {
				return exit{exitLost, fmt.Sprintf("%q was lost while the command ran, which ended with %v", name, c.ProcessState)}
			}
			return exit{codeOf(c.ProcessState), ""}
		}
	}
}

// stay keeps the lock until over ends, which a signal does by calling signalled, or the lock is lost.
func (h *held) stay(over context.Context, signals <-chan os.Signal, signalled func()) {
	select {
	case <-over.Done():
	case <-h.lock.Done():
	case <-signals:
		signalled()
	}
}

// codeOf is the exit code of the command, as shells have it.
func codeOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return exitSignal + int(w.Signal())
	}
	return s.ExitCode()
}

// process is the command while it runs.
type process struct {
	*exec.Cmd
	ended    <-chan struct{}
	terminal *os.File         // nil: the command has a process group of its own
	stops    <-chan os.Signal // of the terminal's Ctrl-Z, if there is one
}

// start leaves the command in our process group on a terminal, so that Ctrl-C and Ctrl-Z
// reach it there.
func start(c *exec.Cmd) (p *process, err error) {
	p = &process{Cmd: c}
	p.terminal, err = os.Open("/dev/tty")
	if err == nil {
		p.stops = stopKey() // first: a Ctrl-Z may follow the command's first word
		p.ended, err = child.StartBeside(c)
	} else {
		p.ended, err = child.Start(c)
	}
	return p, err
}

// pass passes a signal on, unless a key of the terminal has sent it to the command, too.
func (p *process) pass(s os.Signal) {
	if p.terminal != nil && (s == os.Interrupt || s == syscall.SIGQUIT) && inForeground(p.terminal) {
		return
	}
	_ = p.signal(s.(syscall.Signal)) // as all that are notified
}

// signal sends a signal to the command, and to all of its group if that is its own. It may
// have ended.
func (p *process) signal(s syscall.Signal) error {
	if p.terminal != nil {
		return p.Process.Signal(s)
	}
	return child.SignalGroup(p.Process, s)
}

// endGroup gives what the command has left of its group until kill, as the command had it.
func (p *process) endGroup(kill <-chan time.Time) {
	for p.signal(0) == nil {
		select {
		case <-kill:
			_ = p.signal(syscall.SIGKILL)
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
