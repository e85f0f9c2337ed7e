package redisserver

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// process is one child. run owns it and reaps it; everyone else sends signals and waits for done.
type process struct {
	cmd  *exec.Cmd
	log  tail
	done chan struct{} // closed by run once the child has been reaped
}

// spawn starts the program in a process group of its own, so that Ctrl-C on the terminal reaches only the parent, which
// then stops its servers in order.
func spawn(bin string, args []string) (*process, error) {
	p := &process{cmd: exec.Command(bin, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.SysProcAttr = childAttr()
	started := make(chan error, 1)
	go p.run(started)
	return p, <-started
}

// run forks the child and keeps the forking OS thread to itself until the child is gone: the kernel sends the
// parent-death signal when that thread ends, not when the process does, and the runtime ends threads whose goroutine exits
// locked. The thread costs nothing, waiting for a child blocks one anyway.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	labels := pprof.Labels("redisserver", strconv.Itoa(p.pid()))
	pprof.Do(context.Background(), labels, func(context.Context) { _ = p.cmd.Wait() }) // how it ended is for its log to say
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) gone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) pause() error {
	if err := p.cmd.Process.Signal(sigStop); err != nil {
		return err
	}
	return awaitStopped(p.pid())
}

func (p *process) resume() error { return p.cmd.Process.Signal(sigCont) }

func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// terminate asks politely for as long as limit, then kills.
func (p *process) terminate(limit time.Duration) error {
	_ = p.resume() // a stopped process would not see SIGTERM
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(limit):
		return p.kill()
	}
}

// tail keeps the last bytes that were written to it.
type tail struct {
	mu  sync.Mutex // guards the following
	buf []byte     // at most tailSize
}

const tailSize = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	t.buf = append(t.buf[:0], t.buf[max(0, len(t.buf)-tailSize):]...)
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
