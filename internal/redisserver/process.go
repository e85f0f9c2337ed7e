package redisserver

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"muxlock/internal/child"
)

// process is one child. Any goroutine may send it signals and wait for done.
type process struct {
	cmd  *exec.Cmd
	log  tail
	done <-chan struct{} // closed once the child has been reaped
}

// spawn starts the program.
func spawn(bin string, args []string) (*process, error) {
	p := &process{cmd: exec.Command(bin, args...)}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	var err error
	p.done, err = child.Start(p.cmd)
	return p, err
}

func (p *process) gone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) resume() error { return child.Resume(p.cmd.Process) }

func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// terminate sends SIGTERM, and kills the process if it still runs after limit.
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

// tail keeps the last tailSize bytes written to it.
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
