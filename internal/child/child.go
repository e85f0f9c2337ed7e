// Package child starts processes that end with this one.
package child

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts cmd in its own process group: Ctrl-C on the terminal reaches only the parent, which can then end its
// children in order. When the parent is killed, Linux kills the child. Start calls cmd.Wait. The channel is closed once
// the child has been reaped; cmd.ProcessState then tells how it ended.
func Start(cmd *exec.Cmd) (<-chan struct{}, error) { return start(cmd, attr(true)) }

// StartBeside is Start in the process group of this process. The terminal's signals reach the child too.
func StartBeside(cmd *exec.Cmd) (<-chan struct{}, error) { return start(cmd, attr(false)) }

func start(cmd *exec.Cmd, attr *syscall.SysProcAttr) (<-chan struct{}, error) {
	cmd.SysProcAttr = attr
	started, done := make(chan error, 1), make(chan struct{})
	go run(cmd, started, done)
	return done, <-started
}

// run forks the child and keeps the forking OS thread until the child is gone. The kernel sends the parent-death signal
// when that thread ends, even if the process lives on, and the runtime may end any thread. The thread costs nothing:
// waiting for a child blocks one anyway.
func run(cmd *exec.Cmd, started chan<- error, done chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(done)
	err := cmd.Start()
	started <- err
	if err == nil {
		_ = cmd.Wait() // the result is in ProcessState
	}
}

// Talker is a process that reads requests on its standard input and answers on its standard output.
type Talker struct {
	*exec.Cmd
	In   io.WriteCloser
	Out  *os.File        // the reader closes it; what the process wrote last stays readable after its end
	Done <-chan struct{} // closed when the process is gone
}

// talking is set in the environment of a Talker.
const talking = "MUXLOCK_TALKER"

// Command is the first argument of a Talker.
const Command = "child-process"

// Talk starts this program again as a Talker, with the arguments Command and what. The Talker's errors go to log; its
// descriptors from 3 on are files. Talk fails within a Talker: a program that ignores Command, such as a test binary
// without TestMain, would start itself for ever.
func Talk(log *os.File, files []*os.File, what string) (*Talker, error) {
	if os.Getenv(talking) != "" {
		return nil, errors.New("child: a process that Talk has started starts no other one")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, Command, what)
	cmd.Stderr, cmd.ExtraFiles, cmd.Env = log, files, append(os.Environ(), talking+"="+what)
	return TalkTo(cmd)
}

// TalkTo starts another program as a Talker.
func TalkTo(cmd *exec.Cmd) (t *Talker, err error) {
	t = &Talker{Cmd: cmd}
	if t.In, err = t.StdinPipe(); err != nil {
		return nil, err
	}
	// StdoutPipe would close when the child ends, and lose what the child wrote last.
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	t.Stdout, t.Out = w, out
	t.Done, err = Start(t.Cmd)
	w.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	return t, nil
}

// Pause stops a process with SIGSTOP. On Linux it returns once the process, a child of this one, has stopped.
func Pause(p *os.Process) error {
	if err := p.Signal(sigStop); err != nil {
		return err
	}
	return awaitStopped(p.Pid)
}

// Resume continues a paused process with SIGCONT.
func Resume(p *os.Process) error { return p.Signal(sigCont) }
