package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/usage"
)

// underTestLock is set in the environment of a test binary that is muxlock exec from the moment on at which it has the lock. The
// lock is the test's: it has no masters and no lease, so that it is lost when the test says so, and else never. Its arguments
// are --grace, --hold-at-least and the command.
const underTestLock = "TEST_UNDER_TEST_LOCK"

func runUnderTestLock() {
	grace, _ := time.ParseDuration(os.Args[1])
	hold, _ := time.ParseDuration(os.Args[2])
	log := newBacklog(os.Stderr)
	lock := newTestLock()
	go lock.follow(os.NewFile(3, "what the test says"))
	h := &held{names: []string{"name"}, lock: lock, close: func() error { return nil }}
	c := &exec.Cmd{Path: "/bin/sh", Args: append([]string{"sh", "-c"}, os.Args[3:]...), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ()}
	err := h.run(c, notified(), grace, hold, log)
	code, quiet := usage.Code(err, exitOurs, exitOurs)
	if !quiet {
		say(log, "%s", err)
	}
	log.flush(lastWords)
	os.Exit(code)
}

// A testLock is held until it is told otherwise.
type testLock struct {
	mu   sync.Mutex // guards the following
	end  time.Time
	warn func() // nil before WarnBefore
	err  error  // set when it is lost
	done chan struct{}
	asks int // for done: once for the command, and again when the command has ended
}

// heldOn is written when the command has ended, and the lock is held on.
const heldOn = "held on"

func newTestLock() *testLock {
	return &testLock{end: time.Now().Add(time.Hour), done: make(chan struct{})}
}

// follow reads "lost", or for how long the lock still is valid while it cannot be renewed.
func (l *testLock) follow(in io.Reader) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		left, err := time.ParseDuration(lines.Text())
		l.mu.Lock()
		if err != nil {
			l.err = fmt.Errorf("%w: %w", engine.ErrLost, engine.ErrNotHeld)
			close(l.done)
		} else {
			l.end = time.Now().Add(left)
			l.warn()
		}
		l.mu.Unlock()
	}
}

func (l *testLock) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *testLock) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

func (l *testLock) WarnBefore(_ time.Duration, fn func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warn = fn
	return nil
}

func (l *testLock) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asks++; l.asks == 2 {
		fmt.Println(heldOn)
	}
	return l.done
}

func (l *testLock) Valid() bool                   { return l.Err() == nil }
func (l *testLock) HeldOn() (masters, total int)  { return 1, 3 }
func (l *testLock) KeepAlive(time.Duration) error { return nil }
func (l *testLock) Release(context.Context) error { return l.Err() }

// supervised starts a command under a lock of the test, and returns what tells the lock. It waits for the command's "ready".
func supervised(t *testing.T, grace, hold time.Duration, script string, args ...string) (j *job, tell func(string)) {
	t.Helper()
	return bare.supervised(t, exec.Command(redistest.Program(t), append([]string{grace.String(), hold.String(), script}, args...)...))
}

func (s *set) supervised(t *testing.T, c *exec.Cmd) (j *job, tell func(string)) {
	t.Helper()
	in, out, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { out.Close() })
	c.ExtraFiles = []*os.File{in}
	j = s.with(underTestLock+"=1").launch(t, c)
	require.NoError(t, in.Close())
	j.out.await(t, "ready")
	return j, func(what string) {
		t.Helper()
		_, err := fmt.Fprintln(out, what)
		require.NoError(t, err)
	}
}
