// Package child starts processes that do not outlive this one.
package child

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts cmd in a process group of its own, so that Ctrl-C on the terminal
// reaches only the parent, which then ends its children in order; when the parent is
// killed, Linux kills the child. The channel is closed once the child has been reaped;
// cmd.ProcessState then tells how it ended. Start calls cmd.Wait itself.
func Start(cmd *exec.Cmd) (<-chan struct{}, error) { return start(cmd, attr(true)) }

// StartBeside is Start in the process group of this process, where the terminal's signals
// reach the child, too.
func StartBeside(cmd *exec.Cmd) (<-chan struct{}, error) { return start(cmd, attr(false)) }

func start(cmd *exec.Cmd, attr *syscall.SysProcAttr) (<-chan struct{}, error) {
	cmd.SysProcAttr = attr
	started, done := make(chan error, 1), make(chan struct{})
	go run(cmd, started, done)
	return done, <-started
}

// run forks the child and keeps the forking OS thread to itself until the child is gone: the kernel sends the
// parent-death signal when that thread ends, not when the process does, and the runtime ends threads whose goroutine exits
// locked. The thread costs nothing, waiting for a child blocks one anyway.
func run(cmd *exec.Cmd, started chan<- error, done chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(done)
	err := cmd.Start()
	started <- err
	if err == nil {
		_ = cmd.Wait() // ProcessState tells
	}
}

// Talker is a process that answers on its standard output what comes on its standard input.
type Talker struct {
	*exec.Cmd
	In   io.WriteCloser
	Out  *os.File        // the reader's to close: its last words stay readable
	Done <-chan struct{} // closed when it is gone
}

// talking is set in the environment of a Talker.
const talking = "MUXLOCK_TALKER"

// Command is the first argument of a Talker.
const Command = "child-process"

// Talk starts this program again as a Talker, with the arguments Command and what it is to do. Its
// errors go to log, and files are open in it from descriptor 3 on. A Talker starts none itself: a
// program that knows nothing of Command, as a test without its TestMain, would start itself for ever.
func Talk(log *os.File, files []*os.File, what string) (*Talker, error) {
	if os.Getenv(talking) != "" {
		return nil, errors.New("child: a process that Talk has started starts no other one")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &Talker{Cmd: exec.Command(self, Command, what)}
	t.Stderr, t.ExtraFiles, t.Env = log, files, append(os.Environ(), talking+"="+what)
	if t.In, err = t.StdinPipe(); err != nil {
		return nil, err
	}
	// Not StdoutPipe, which closes when the child ends, with its last words in it.
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
