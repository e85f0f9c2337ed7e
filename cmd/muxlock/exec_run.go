package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"muxlock/internal/child"
	"muxlock/internal/usage"
)

// dyingTime bounds the wait for a killed process group to vanish. A zombie that nobody reaps stays in its group.
const dyingTime = time.Second

// run runs the command under the lock and returns how the command ended. It releases the lock once the command has
// ended and hold has passed. If the lock is lost, or cannot be renewed while grace of the lease is left, the command
// gets SIGTERM, and SIGKILL after grace. run also watches the lease, so writes to log must not block.
func (h *held) run(c *exec.Cmd, signals <-chan os.Signal, grace, hold time.Duration, log io.Writer) error {
	names := quoted(h.names)
	over, signalled := context.WithTimeout(context.Background(), hold)
	defer signalled()
	expiring := make(chan struct{}, 1)
	warn := func() {
		select {
		case expiring <- struct{}{}:
		default:
		}
	}
	if err := cmp.Or(h.lock.KeepAlive(0), h.lock.WarnBefore(grace, warn)); err != nil {
		h.close()
		return usage.Exitf(exitLost, "%s was lost before the command was started: %s", names, err)
	}
	p, err := start(c)
	if err != nil {
		h.release()
		return cannotRun(c.Args[0], err)
	}

	var kill <-chan time.Time // fires when the grace is over; nil until the lock is lost or about to be
	killed, aborted, when := false, false, "while the command ran"
	end := func(grace time.Duration, format string, args ...any) {
		if kill != nil {
			return
		}
		_ = p.signal(syscall.SIGTERM)
		kill = time.After(grace)
		say(log, "%s %s; the command gets SIGTERM, and SIGKILL in %s", names, fmt.Sprintf(format, args...), grace.Round(time.Millisecond))
	}
	for lost := h.lock.Done(); ; {
		select {
		case s := <-signals:
			p.pass(s)
			signalled()
			aborted = aborted || s == syscall.SIGABRT
		case s := <-p.messages:
			p.message(s)
		case <-p.stops:
			p.stop()
		case <-expiring:
			if left := time.Until(h.lock.Until()); left > 0 && left <= grace { // else the lock is lost by now, or a late answer renewed it
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
			if killed { // the rest of the group got SIGKILL too
				kill = time.After(dyingTime)
			}
			if kill != nil {
				p.endGroup(kill)
			} else if h.stay(over, p.stops, signals, signalled); over.Err() == nil {
				when = "after the command"
			}
			if kill == nil && h.lock.Valid() && errors.Is(over.Err(), context.Canceled) {
				h.close() // a signal ended the hold: leave the lease to run out
			} else if lost := h.end(log); lost != nil || kill != nil {
				return usage.Exitf(exitLost, "%s was lost %s, which ended with %v", names, when, c.ProcessState)
			}
			e := usage.Exit{Code: codeOf(c.ProcessState)}
			if aborted {
				e.Text = fmt.Sprintf("aborted while the command ran, which got SIGABRT too and ended with %v", c.ProcessState)
			}
			return e
		}
	}
}

// stay keeps the lock until over ends or the lock is lost. A signal calls signalled, which ends over; one from stops stops
// muxlock.
func (h *held) stay(over context.Context, stops, signals <-chan os.Signal, signalled func()) {
	for {
		select {
		case <-over.Done():
		case <-h.lock.Done():
		case <-signals:
			signalled()
		case <-stops:
			raiseStop()
			continue
		}
		return
	}
}

// codeOf returns the command's exit code as a shell reports it: 128 plus the signal for a command ended by one.
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
	stops    <-chan os.Signal // receives SIGTSTP, the terminal's Ctrl-Z; nil where that is ignored
	messages <-chan os.Signal // receives signals that are only passed on
}

// running is the command of this muxlock.
var running struct {
	sync.Mutex          // held while the command is started, until its pid is known
	command    *process // nil before
}

// start starts the command. On a terminal the command stays in muxlock's process group, so that Ctrl-C and Ctrl-Z reach it.
func start(c *exec.Cmd) (p *process, err error) {
	running.Lock()
	defer running.Unlock()
	p = &process{Cmd: c, stops: stopKey(), messages: messages()} // before the command starts: its first output may be answered with Ctrl-Z
	begin := child.StartBeside
	if p.terminal, err = os.Open("/dev/tty"); err != nil {
		begin = child.Start
	}
	if p.ended, err = begin(c); err == nil {
		running.command = p
	}
	return p, err
}

// pass passes a signal on to the command, unless a key of the terminal has sent it to both.
func (p *process) pass(s os.Signal) {
	if p.terminal != nil && (s == os.Interrupt || s == syscall.SIGQUIT) && inForeground(p.terminal) {
		return
	}
	_ = p.signal(s.(syscall.Signal)) // signal.Notify was asked for syscall.Signals only
}

// signal sends a signal to the command, or to its whole process group if it has its own. The command may have ended.
func (p *process) signal(s syscall.Signal) error {
	if p.terminal != nil {
		return p.Process.Signal(s)
	}
	return child.SignalGroup(p.Process, s)
}

// endGroup waits until the command's process group is empty. When kill fires first, the rest of the group gets SIGKILL.
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
