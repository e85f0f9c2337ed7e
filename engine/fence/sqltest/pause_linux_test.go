package sqltest

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/engine/fence"
	"muxlock/internal/child"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// These environment variables make this test binary a worker, without and with fences, in the folder that is their value,
// with locks on these masters.
const (
	plainEnv   = "MUXLOCK_TEST_PLAIN"
	fencedEnv  = "MUXLOCK_TEST_FENCED"
	mastersEnv = "MUXLOCK_TEST_MASTERS"
)

func TestMain(m *testing.M) {
	for env, increment := range map[string]func(*sql.DB, *engine.Lock) error{plainEnv: plain, fencedEnv: fenced} {
		if dir := os.Getenv(env); dir != "" {
			fmt.Println(actAsWorker(dir, increment))
			return
		}
	}
	os.Exit(m.Run())
}

// workerTTL is far more than a worker on a busy machine takes from its lock to its read.
const workerTTL = 6 * time.Second

func config(masters []string) engine.Config {
	return engine.Config{Masters: masters, MasterTimeout: await.Patience, Fencing: true}
}

// fencedMasters returns the addresses of masters that are set up for fencing.
func fencedMasters(t *testing.T) []string {
	t.Helper()
	masters := redistest.Addrs(redistest.Masters(t, 3))
	cfg := config(masters)
	cfg.MasterTimeout = 4 * await.Patience // there is no lease yet
	require.NoError(t, admin.SetUp(t.Context(), cfg, admin.SetUpOptions{MastersAreNew: true}))
	return masters
}

// actAsWorker increments the counter once under the lock, again each time that a newer holder came before its write.
func actAsWorker(dir string, increment func(*sql.DB, *engine.Lock) error) error {
	db, err := open(dir)
	if err != nil {
		return err
	}
	locks, err := engine.New(context.Background(), config(strings.Split(os.Getenv(mastersEnv), ",")))
	if err != nil {
		return err
	}
	defer locks.Close()
	for {
		lock, err := locks.Acquire(context.Background(), "n", workerTTL)
		if err != nil {
			return err
		}
		err = increment(db, lock)
		_ = lock.Release(context.Background()) // it may be another's by now
		if !errors.Is(err, fence.ErrStale) {
			return err
		}
		fmt.Println(err)
	}
}

func plain(db *sql.DB, lock *engine.Lock) error {
	n, err := read(db)
	if err != nil {
		return err
	}
	betweenReadAndWrite(n, lock)
	_, err = db.Exec("UPDATE counters SET n = ? WHERE id = 'n'", n+1)
	return err
}

func fenced(db *sql.DB, lock *engine.Lock) error {
	if err := counters.Seal(context.Background(), db, "n", lock.Fence()); err != nil {
		return err
	}
	n, err := read(db)
	if err != nil {
		return err
	}
	betweenReadAndWrite(n, lock)
	return counters.Update(context.Background(), db, "n", lock.Fence(), "n = ?", n+1)
}

func read(db *sql.DB) (n int, err error) {
	err = db.QueryRow("SELECT n FROM counters WHERE id = 'n'").Scan(&n)
	return n, err
}

// betweenReadAndWrite prints what was read, and whether the lease is valid: the holder's last look at it. It waits until
// standard input ends, and prints whether the lease still is, which the holder does not look at.
func betweenReadAndWrite(n int, lock *engine.Lock) {
	fmt.Printf("read %d, valid: %t\n", n, lock.Valid())
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Printf("goes on, valid: %t\n", lock.Valid())
}

// worker is a process of this test binary.
type worker struct {
	t       *testing.T
	process *os.Process
	lines   *bufio.Reader
	goOn    func() error // ends its standard input
}

// start starts a worker. It ends with the test.
func start(t *testing.T, env, dir string, masters []string) worker {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+dir, mastersEnv+"="+strings.Join(masters, ","))
	cmd.Stderr = os.Stderr
	lines, out, err := os.Pipe() // StdoutPipe would be closed when the process ends, read or not
	require.NoError(t, err)
	in, goOn, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stdin = out, in
	ended, err := child.Start(cmd)
	require.NoError(t, errors.Join(err, out.Close(), in.Close()))
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = errors.Join(lines.Close(), goOn.Close())
	})
	return worker{t, cmd.Process, bufio.NewReader(lines), goOn.Close}
}

// says waits for the next line of the worker.
func (w worker) says(want string) {
	w.t.Helper()
	line, err := w.lines.ReadString('\n')
	require.NoError(w.t, err)
	require.Regexp(w.t, "^"+want+"\n$", line)
}

// stop stops the worker, and waits until it is.
func (w worker) stop() {
	w.t.Helper()
	require.NoError(w.t, w.process.Signal(syscall.SIGSTOP))
	require.NoError(w.t, unix.Waitid(unix.P_PID, w.process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil))
}

// takeOver stops a worker between its read and its write. A second worker reads once the lease has run out. Then the first
// one writes and says firstSays, and then the second writes.
func takeOver(t *testing.T, env, dir, firstSays string) (first worker) {
	t.Helper()
	masters := fencedMasters(t)
	first = start(t, env, dir, masters)
	first.says("read 0, valid: true")
	first.stop()
	require.NoError(t, first.goOn(), "only the signal holds it now")

	second := start(t, env, dir, masters)
	second.says("read 0, valid: true")
	require.NoError(t, first.process.Signal(syscall.SIGCONT))
	first.says("goes on, valid: false")
	first.says(firstSays)
	require.NoError(t, second.goOn())
	second.says("goes on, valid: true")
	second.says("<nil>")
	return first
}

func TestHolderStoppedBeforeItsWriteLosesAnUpdateWithoutFence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := open(dir)
	require.NoError(t, err)
	defer db.Close()
	takeOver(t, plainEnv, dir, "<nil>")
	requireRow(t, db, 1, 0) // of two that were told to have worked
}

func TestHolderStoppedBeforeItsWriteIsRefusedByItsFence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := open(dir)
	require.NoError(t, err)
	defer db.Close()
	first := takeOver(t, fencedEnv, dir, `fence: stale: \d+ came, \d+ was seen`)
	first.says("read 1, valid: true") // with a lease, and a fence, of its own again
	first.says("goes on, valid: true")
	first.says("<nil>")
	n, err := read(db)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}
