package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

// binary is this test binary. A process that a test starts of it is muxlock: see asProgram.
var binary string

// asProgram is set in the environment of the processes that tests start. With it, the test binary is muxlock, so that the
// program need not be linked a second time.
const asProgram = "TEST_AS_PROGRAM" // not a setting: cleanEnv leaves it

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main() // exits
	}
	// Nearly all the time, a test here waits for a process.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	// A process started in the background, or by nohup, ignores signals, and its children inherit that.
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	var err error
	if binary, err = os.Executable(); err == nil {
		err = os.Setenv(asProgram, "1")
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	if err := stopIdle(); err != nil {
		panic(err)
	}
	os.Exit(code)
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

// muxlock runs the binary to its end.
func muxlock(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return muxlockEnv(t, cleanEnv(), args...)
}

func muxlockEnv(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &log, env
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.NotContains(t, log.String(), "goroutine ", "a panic")
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

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

func (s *set) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return muxlockEnv(t, cleanEnv(s.env...), args...)
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
func (s *set) start(t *testing.T, args ...string) *job {
	t.Helper()
	return s.startBy(t, binary, args...)
}

// startBy starts a program that becomes muxlock.
func (s *set) startBy(t *testing.T, program string, args ...string) *job {
	t.Helper()
	return s.startFrom(t, nil, program, args...)
}

// startFrom is startBy with a standard input.
func (s *set) startFrom(t *testing.T, in *os.File, program string, args ...string) *job {
	t.Helper()
	return s.startAs(t, withoutTerminal, in, program, args...)
}

func (s *set) startAs(t *testing.T, as *syscall.SysProcAttr, in *os.File, program string, args ...string) *job {
	t.Helper()
	j := &job{Cmd: exec.Command(program, args...), out: newLines(), log: newLines(), done: make(chan struct{})}
	j.SysProcAttr = as
	j.WaitDelay = limit / 4 // in case a process that it left behind keeps its outputs open
	if in != nil {
		j.Stdin = in
	}
	j.Env, j.Stdout, j.Stderr = cleanEnv(s.env...), j.out, j.log
	require.NoError(t, j.Start())
	go func() {
		defer close(j.done)
		j.Wait()
	}()
	t.Cleanup(func() {
		j.Process.Kill()
		<-j.done
	})
	return j
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
