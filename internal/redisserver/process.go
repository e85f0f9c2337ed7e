package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"muxlock/internal/child"
	"muxlock/internal/serverinfo"
	"muxlock/internal/wire"
)

// process is one child. Any goroutine may send it signals and wait for done.
type process struct {
	cmd  *exec.Cmd
	log  tail
	done <-chan struct{} // closed once the child has been reaped
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

// askLimit is how long one INFO may take before it is sent again on a new connection.
const askLimit = time.Second

// awaitReady asks until the child answers at addr and has read its data. It fails when the child ends, when another process answers
// (errPortTaken), or when ctx ends; the error then says why the child was not ready.
func awaitReady(ctx context.Context, p *process, addr, password string) error {
	for {
		pid, loading, err := ask(ctx, addr, password)
		switch {
		case err == nil && pid != p.cmd.Process.Pid:
			return errPortTaken
		case err == nil && loading:
			err = errors.New("it still reads its data")
		case err == nil:
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("server ended: %v", p.cmd.ProcessState)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// ask asks the server at addr for its process id, and whether it still reads its data: then it answers no other commands.
func ask(ctx context.Context, addr, password string) (pid int, loading bool, err error) {
	server := url.URL{Scheme: "redis", Host: addr}
	if password != "" {
		server.User = url.UserPassword("", password)
	}
	reply, err := wire.Ask(ctx, server.String(), askLimit, "INFO")
	if err != nil {
		return 0, false, err
	}
	info := serverinfo.Parse(reply[0].Text)
	pid, err = info.ProcessID()
	return pid, info.Loading(), err
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
