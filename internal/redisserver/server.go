// Package redisserver starts and stops real redis-server (or valkey-server) processes on loopback, for tests and for
// local measurements.
//
// A Server owns its child process, its port and its data folder. Stop ends the child and removes the folder. When the
// parent is killed, Linux kills the child; the folder of a server that stores nothing is removed at the start. Before
// any other command, INFO (after AUTH, given a password) shows that the process behind the port is the child.
package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/internal/child"
)

const (
	startLimit = 60 * time.Second // of Start and Restart, beside ctx
	stopLimit  = 2 * time.Second  // between SIGTERM and SIGKILL
)

// BinaryEnv names the environment variable for the server program to start: a path, or a name on PATH.
const BinaryEnv = "MUXLOCK_SERVER"

// ErrNoBinary is returned when no server program is on PATH.
var ErrNoBinary = errors.New("redisserver: neither redis-server nor valkey-server found on PATH; " +
	"install one: apt-get install redis-server (Debian, Ubuntu) or brew install redis (macOS)")

// errPortTaken is returned by launch when something else has the port.
var errPortTaken = errors.New("port taken by another process")

// Binary returns the path of the server program. If BinaryEnv is set, that is its program or an error. Otherwise it is
// redis-server, or else valkey-server, or else ErrNoBinary.
func Binary() (string, error) {
	if name := os.Getenv(BinaryEnv); name != "" {
		return find(BinaryEnv, name)
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoBinary
}

// find returns the path of a program; by says who asked for it.
func find(by, name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("redisserver: %s: %w", by, err)
	}
	return path, nil
}

// Options say how servers are started. The zero value is an empty server without password and persistence.
type Options struct {
	// Programs, unless empty, replaces the program of Binary: each is a path or a name on PATH. Start runs the first,
	// StartN each in turn.
	Programs []string
	// Args is further configuration, for example "--maxmemory", "1mb". It overrides the default of no persistence, but
	// not the address or the folder.
	Args []string
	// Password, unless empty, is the password that the server requires.
	Password string
	// Dir is the parent of the data folders; empty means the folder for temporary files.
	Dir string
}

// Server is a server process. Its methods are safe for concurrent use; they wait for each other.
type Server struct {
	opts Options
	bin  string
	dir  string // data folder; removed by Stop, or without Args as soon as the server runs
	port int

	mu      sync.Mutex // guards the following
	proc    *process   // the child, or the last one
	stopped bool       // Stop was called
}

// Start starts one server on a free port of 127.0.0.1 and returns when it answers. It blocks for at most a minute. ctx
// bounds the start, not the life of the server. On an error nothing stays behind. Errors: ErrNoBinary, the ctx error, or
// an error with the end of the server's log.
func Start(ctx context.Context, opts Options) (*Server, error) { return start(ctx, opts, freePort) }

// StartN starts n servers side by side, as Start does. If one fails to start, StartN stops the others.
func StartN(ctx context.Context, n int, opts Options) ([]*Server, error) {
	servers := make([]*Server, n)
	g, ctx := errgroup.WithContext(ctx)
	for i := range servers {
		opts := opts
		if n := len(opts.Programs); n > 0 {
			opts.Programs = opts.Programs[i%n : i%n+1]
		}
		g.Go(func() (err error) {
			servers[i], err = Start(ctx, opts)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		started := slices.DeleteFunc(servers, func(s *Server) bool { return s == nil })
		return nil, errors.Join(err, StopAll(started))
	}
	return servers, nil
}

// StopAll stops servers side by side, waits until all are gone, and joins their errors.
func StopAll(servers []*Server) error {
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { errs[i] = s.Stop() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// start tries ports from choose until the server gets one.
func start(ctx context.Context, opts Options, choose func() (int, error)) (_ *Server, err error) {
	s := &Server{opts: opts}
	if len(opts.Programs) > 0 {
		s.bin, err = find("program", opts.Programs[0])
	} else {
		s.bin, err = Binary()
	}
	if err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(opts.Dir, "muxlock-redis-"); err != nil {
		return nil, fmt.Errorf("redisserver: data folder: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		if s.port, err = choose(); err != nil {
			break
		}
		if s.proc, err = s.launch(ctx); !errors.Is(err, errPortTaken) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("redisserver: start: %w", err), os.RemoveAll(s.dir))
	}
	return s, nil
}

// Addr returns the address, 127.0.0.1:port; it never changes.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Password returns the password of Options.
func (s *Server) Password() string { return s.opts.Password }

// Dir returns the path of the data folder. Without Args the folder is gone once the server runs.
func (s *Server) Dir() string { return s.dir }

// PID returns the process id of the child, or of the last child if none runs.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.cmd.Process.Pid
}

// Pause stops the process with SIGSTOP. Connections stay and the kernel accepts new ones, but nothing answers. On Linux
// Pause returns once the process has stopped. It fails with os.ErrProcessDone if no process runs.
func (s *Server) Pause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return child.Pause(s.proc.cmd.Process)
}

// Resume continues a paused process with SIGCONT. It fails with os.ErrProcessDone if no process runs.
func (s *Server) Resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.resume()
}

// Kill ends the process with SIGKILL, paused or not, and waits until it is gone. Restart starts a new one.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.kill()
}

// Restart starts a new process on the same port and returns when it answers. The process has no data unless Args asked
// for persistence. Restart fails while the last process still runs. It blocks for at most a minute, even if something
// else uses the port; ctx bounds the start.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || !s.proc.gone() {
		return fmt.Errorf("redisserver: restart of %s: it is stopped for good or still running", s.Addr())
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		proc, err := s.launch(ctx)
		if err == nil {
			s.proc = proc
			return nil
		}
		// A client that dials a dead port of the ephemeral range can hold it for a moment by connecting to itself.
		if !errors.Is(err, errPortTaken) || ctx.Err() != nil {
			return fmt.Errorf("redisserver: restart of %s: %w", s.Addr(), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Stop ends the server for good with SIGTERM, or SIGKILL after two seconds, and removes its data folder. It returns when
// the process is gone, works on a paused or killed process too, and may be called again.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	return errors.Join(s.proc.terminate(stopLimit), os.RemoveAll(s.dir))
}

// launch starts a child on s.port and waits until it answers. On an error the child is gone.
func (s *Server) launch(ctx context.Context) (*process, error) {
	args := append([]string{"--save", "", "--appendonly", "no"}, s.opts.Args...)
	if s.opts.Password != "" {
		args = append(args, "--requirepass", s.opts.Password)
	}
	args = append(args, "--bind", "127.0.0.1", "--dir", s.dir, "--port", strconv.Itoa(s.port))
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	proc := &process{cmd: exec.Command(s.bin, args...)}
	proc.cmd.Stdout, proc.cmd.Stderr = &proc.log, &proc.log
	var err error
	if proc.done, err = child.Start(proc.cmd); err != nil {
		return nil, err
	}
	if err := awaitReady(ctx, proc, s.Addr(), s.opts.Password); err != nil {
		err = errors.Join(err, proc.kill())
		log := proc.log.String()
		if strings.Contains(log, "Address already in use") {
			err = errors.Join(errPortTaken, err)
		}
		return nil, fmt.Errorf("%w; log of the server:\n%s", err, log)
	}
	if len(s.opts.Args) == 0 { // the server writes nothing there, and a killed parent could not remove it later
		_ = os.RemoveAll(s.dir)
	}
	return proc, nil
}

// freePort returns a port of 127.0.0.1 that has just been free.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
