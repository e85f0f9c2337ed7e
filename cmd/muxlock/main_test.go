package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) {
	if os.Getenv(underTestLock) != "" {
		runUnderTestLock() // exits
	}
	redistest.Main(func() int {
		// A process started in the background, or by nohup, ignores signals, and its children inherit that.
		for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT} {
			if signal.Ignored(sig) {
				signal.Notify(make(chan os.Signal, 1), sig)
			}
		}
		code := m.Run()
		if err := stopIdle(); err != nil {
			panic(err)
		}
		return code
	}, main)
}

// asks is a --wait that ends when a busy machine, too, has asked the masters.
const asks = "5s"

// limit bounds every wait of a test; nothing is expected to come near it.
const limit = 3 * time.Minute

// cleanEnv returns the environment without muxlock's settings, plus more.
func cleanEnv(more ...string) (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, variablePrefix) {
			env = append(env, v)
		}
	}
	return append(env, more...)
}

// bare is a set without settings.
var bare = &set{}

// A set is the masters of a test, and the environment that names them to muxlock.
type set struct {
	masters []*redisserver.Server
	env     []string
}

// newSet returns three masters without keys. Tests have them one after the other: a test that stops or restarts masters, or
// that needs young ones, takes ownSet. Its muxlock need not wait for their votes.
func newSet(t *testing.T) *set {
	t.Helper()
	redistest.NeedServer(t)
	var masters []*redisserver.Server
	select {
	case masters = <-idle:
	default:
		var err error
		masters, err = redisserver.StartN(t.Context(), 3, redisserver.Options{})
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			require.NoError(t, redisserver.StopAll(masters))
			return
		}
		for _, m := range masters {
			for _, kind := range []string{"normal", "pubsub"} { // what a muxlock that was killed has sent is not read any more
				redistest.Command(t, m, "CLIENT", "KILL", "TYPE", kind)
			}
			redistest.Command(t, m, "FLUSHALL")
		}
		idle <- masters
	})
	return setOf(masters)
}

// idle has the masters that no test has at the moment.
var idle = make(chan []*redisserver.Server, 1000)

// stopIdle stops them when all tests are over.
func stopIdle() (err error) {
	for {
		select {
		case masters := <-idle:
			err = errors.Join(err, redisserver.StopAll(masters))
		default:
			return err
		}
	}
}

// ownSet starts three masters for a test alone. They have never granted a lock.
func ownSet(t *testing.T) *set {
	t.Helper()
	return setOf(redistest.Masters(t, 3))
}

func setOf(masters []*redisserver.Server) *set {
	return &set{masters, []string{
		"MUXLOCK_MASTERS=" + strings.Join(redistest.Addrs(masters), ","), "MUXLOCK_NEW_MASTERS=true",
		"MUXLOCK_MASTER_TIMEOUT=2s", // for a busy machine
	}}
}

// run runs muxlock to its end. Its arguments are the words of line, and more as they are.
func (s *set) run(t *testing.T, line string, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	return redistest.Run(t, cleanEnv(s.env...), append(strings.Fields(line), more...)...)
}

// ok is run of what must succeed.
func (s *set) ok(t *testing.T, line string, more ...string) (stdout string) {
	t.Helper()
	stdout, stderr, code := s.run(t, line, more...)
	require.Zero(t, code, "%s %q: %s", line, more, stderr)
	return stdout
}

// says is run of what must end with that exit code. It returns the messages.
func (s *set) says(t *testing.T, want int, line string, more ...string) (stderr string) {
	t.Helper()
	stdout, stderr, code := s.run(t, line, more...)
	require.Equal(t, want, code, "%s %q: %s%s", line, more, stdout, stderr)
	return stderr
}

// prints is run of what must end with that exit code. Its outputs must match the patterns.
func (s *set) prints(t *testing.T, want int, out, log, line string, more ...string) {
	t.Helper()
	stdout, stderr, code := s.run(t, line, more...)
	require.Equal(t, want, code, "%s %q: %s%s", line, more, stdout, stderr)
	require.Regexp(t, out, stdout)
	require.Regexp(t, log, stderr)
}

// with returns the same masters with more settings.
func (s *set) with(settings ...string) *set {
	return &set{s.masters, append(s.env[:len(s.env):len(s.env)], settings...)}
}

func (s *set) config() engine.Config {
	return engine.Config{Masters: redistest.Addrs(s.masters), MastersAreNew: true, MasterTimeout: 2 * time.Second, Holder: "the test"}
}

// engine connects an engine of this process to the masters.
func (s *set) engine(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.New(t.Context(), s.config())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// hold makes this process hold a name until the end of the test.
func (s *set) hold(t *testing.T, name string) *engine.Lock {
	t.Helper()
	lock, err := s.engine(t).Acquire(t.Context(), name, 0)
	require.NoError(t, err)
	require.NoError(t, lock.KeepAlive(0))
	return lock
}

// A job is a running muxlock.
type job struct {
	*exec.Cmd
	out, log *lines
	done     chan struct{} // closed when it has ended
}

// start starts a muxlock and kills it at the end of the test.
func (s *set) start(t testing.TB, line string, more ...string) *job {
	t.Helper()
	return s.launch(t, exec.Command(redistest.Program(t), append(strings.Fields(line), more...)...))
}

// script is start of an exec with a shell script. It returns once the script has written "ready".
func (s *set) script(t testing.TB, exec, script string, args ...string) *job {
	t.Helper()
	j := s.start(t, "exec "+exec+" -- sh -c", append([]string{script}, args...)...)
	j.out.await(t, "ready")
	return j
}

// forever ends a script that runs until a trap ends it.
const forever = "; echo ready; while :; do sleep 0.02; done"

// withoutTerminal is how cron starts a process: in a session of its own.
var withoutTerminal = &syscall.SysProcAttr{Setsid: true}

// launch starts a program that is muxlock, or becomes it, and keeps the outputs that it has no other place for.
func (s *set) launch(t testing.TB, c *exec.Cmd) *job {
	t.Helper()
	j := &job{Cmd: c, out: newLines(), log: newLines(), done: make(chan struct{})}
	if c.SysProcAttr == nil {
		c.SysProcAttr = withoutTerminal
	}
	if c.Stdout == nil {
		c.Stdout = j.out
	}
	if c.Stderr == nil {
		c.Stderr = j.log
	}
	c.Env, c.WaitDelay = cleanEnv(s.env...), limit/4 // in case a process that it left behind keeps its outputs open
	require.NoError(t, c.Start())
	go func() {
		defer close(j.done)
		c.Wait()
	}()
	t.Cleanup(func() {
		c.Process.Kill()
		<-j.done
	})
	return j
}

// ends sends signals, and waits for the end with that exit code.
func (j *job) ends(t testing.TB, code int, signals ...syscall.Signal) {
	t.Helper()
	j.signal(t, signals...)
	require.Equal(t, code, j.code(t), "%s\n%s", j.out, j.log)
}

func (j *job) signal(t testing.TB, signals ...syscall.Signal) {
	t.Helper()
	for _, s := range signals {
		require.NoError(t, j.Process.Signal(s))
	}
}

// code waits for the end.
func (j *job) code(t testing.TB) int {
	t.Helper()
	select {
	case <-j.done:
	case <-time.After(limit):
		require.Fail(t, "still running", "%s\n%s", j.out, j.log)
	}
	return j.ProcessState.ExitCode()
}

// lines is the output of a process. Tests can wait for a text in it.
type lines struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{} // closed and replaced with each write
}

func newLines() *lines { return &lines{changed: make(chan struct{})} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until a text has been written.
func (l *lines) await(t testing.TB, want string) {
	t.Helper()
	late := time.After(limit)
	for {
		l.mu.Lock()
		text, changed := l.text.String(), l.changed
		l.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-changed:
		case <-late:
			require.Contains(t, text, want)
		}
	}
}
