//go:build linux

package main

import (
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/engine/groups"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/usage"
)

// forced releases a name by force, as from another machine.
func (s *set) forced(t *testing.T, name string) {
	t.Helper()
	stdout, stderr, code := s.run(t, "release", "--force", "--yes", name)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "was deleted on 3 of 3 masters")
}

const (
	quick    = "--ttl=6s" // so that a loss is noticed soon, and on a busy machine none is without a cause
	quickTTL = 6 * time.Second
)

func TestALossEndsTheCommandWithSIGTERM(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j := s.start(t, "exec", quick, "name", "--", "sh", "-c", `trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done`)
	j.out.await(t, "ready")
	s.forced(t, "name")
	require.Equal(t, exitLost, j.code(t))
	require.Equal(t, "ready\nbye\n", j.out.String())
	require.Contains(t, j.log.String(), `muxlock: "name" was lost: `)
	require.Contains(t, j.log.String(), `"name" was lost while the command ran, which ended with exit status 7`)
}

func TestTheCommandGetsItsSignalBeforeThatIsSaid(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	h, err := acquire(t.Context(), groups.Config{Config: s.config()}, []string{"name"}, kind{}, true, io.Discard)
	require.NoError(t, err)
	out := newLines()
	c := exec.Command("sh", "-c", `trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done`)
	c.Stdout = out
	unread, log := io.Pipe() // a write blocks until it is read
	ended := make(chan error, 1)
	go func() { ended <- h.run(c, nil, 4*time.Second, 0, log) }()
	t.Cleanup(func() { unread.Close() })
	out.await(t, "ready")
	s.forced(t, "name")
	out.await(t, "bye")
	unread.Close()
	var e usage.Exit
	require.ErrorAs(t, <-ended, &e)
	require.Equal(t, exitLost, e.Code)
}

func TestACommandThatIgnoresSIGTERMIsKilledAfterTheGrace(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j := s.start(t, "exec", quick, "--grace", "300ms", "name", "--", "sh", "-c", `trap '' TERM; echo ready; while :; do sleep 0.02; done`)
	j.out.await(t, "ready")
	s.forced(t, "name")
	require.Equal(t, exitLost, j.code(t))
	require.Contains(t, j.log.String(), "gets SIGTERM, and SIGKILL in 300ms")
	require.Contains(t, j.log.String(), "ended with signal: killed")
}

// firstProcess is set in the environment of a muxlock that makes itself the subreaper of its descendants, like the first
// process of a container.
const firstProcess = "FIRST_PROCESS"

func init() {
	if os.Getenv(firstProcess) != "" {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			panic(err)
		}
	}
}

// A zombie stays in the command's process group until somebody waits for it, and signals still reach the group.
func TestAKilledCommandThatLeavesAZombieIsTheEndOfMuxlock(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.env = append(s.env, firstProcess+"=1")
	j := s.start(t, "exec", quick, "--grace", "300ms", "name", "--",
		"sh", "-c", `trap '' TERM; sh -c 'echo $$; exec sleep 100' & while :; do sleep 0.02; done`)
	j.out.await(t, "\n")
	s.forced(t, "name")
	require.Equal(t, exitLost, j.code(t))
	awaitGone(t, j.pid(t))
}

func TestALossEndsWhatTheCommandHasStartedToo(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	// The shell ends at once; its child ignores SIGTERM.
	j := s.start(t, "exec", quick, "name", "--", "sh", "-c", `sh -c 'trap "" TERM; echo $$; exec sleep 100' & wait`)
	j.out.await(t, "\n")
	pid := j.pid(t)
	s.forced(t, "name")
	require.Equal(t, exitLost, j.code(t))
	awaitGone(t, pid)
}

func TestALockThatCannotBeRenewedEndsTheCommandBeforeTheLease(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	j := s.start(t, "exec", "--ttl", "8s", "--grace", "4s", "name", "--", "sh", "-c", `trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done`)
	j.out.await(t, "ready")
	for _, m := range s.masters[:2] {
		require.NoError(t, m.Pause())
	}
	j.out.await(t, "bye")
	require.Equal(t, exitLost, j.code(t))
	require.Contains(t, j.log.String(), "cannot be renewed")
	require.NotContains(t, j.log.String(), "was lost:", "SIGTERM came before that")
	for _, m := range s.masters[:2] {
		require.NoError(t, m.Resume())
	}
}

func TestAMuxlockThatIsLateLeavesTheCommandOnlyTheRestOfTheLease(t *testing.T) {
	t.Parallel()
	s, ttl := ownSet(t), 4*time.Second
	j := s.start(t, "exec", "--ttl", ttl.String(), "--grace", "2s", "name", "--", "sh", "-c", `trap 'exit 7' TERM; echo ready; while :; do sleep 0.02; done`)
	j.out.await(t, "ready")
	lease := s.pauseAfterRenewal(t, "name", ttl)
	require.NoError(t, j.Process.Signal(syscall.SIGSTOP)) // and the command goes on
	const left = time.Second
	<-time.After(time.Until(lease.Add(-left)))
	require.NoError(t, j.Process.Signal(syscall.SIGCONT))
	require.Equal(t, exitLost, j.code(t))
	if !strings.Contains(j.log.String(), "cannot be renewed") {
		t.Skip("muxlock went on only after the lease: ", j.log)
	}
	_, kill, _ := strings.Cut(j.log.String(), "SIGKILL in ")
	kill, _, _ = strings.Cut(kill, "\n")
	grace, err := time.ParseDuration(kill)
	require.NoError(t, err)
	require.LessOrEqual(t, grace, left)
}

// pauseAfterRenewal pauses two masters between two renewals of a name; the second is due when two thirds of ttl are left.
// It returns when the lease ends at the first of the two masters.
func (s *set) pauseAfterRenewal(t testing.TB, name string, ttl time.Duration) time.Time {
	t.Helper()
	renewed := ttl*2/3 + ttl/20
	for {
		first := int64(math.MaxInt64)
		for _, m := range s.masters[:2] {
			first = min(first, redistest.Command(t, m, "PEXPIRETIME", name).(int64))
		}
		end := time.UnixMilli(first)
		if time.Until(end) < renewed {
			continue
		}
		for _, m := range s.masters[:2] {
			require.NoError(t, m.Pause())
		}
		if time.Until(end) > renewed {
			return end
		}
		for _, m := range s.masters[:2] { // the next renewal may have come
			require.NoError(t, m.Resume())
		}
	}
}

func TestALockThatWasGoneWhenTheCommandEndedIsLost(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	end := filepath.Join(t.TempDir(), "end")
	in := s.start(t, "exec", "name", "--", "sh", "-c", `echo ready; while ! [ -e "$0" ]; do sleep 0.02; done`, end)
	in.out.await(t, "ready")
	s.forced(t, "name")
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	require.Equal(t, exitLost, in.code(t))
	require.Contains(t, in.log.String(), "which ended with exit status 0")
}

func TestAKilledMuxlockTakesItsCommandWithItAndTheNameIsFreeAfterTheLease(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j := s.start(t, "exec", quick, "name", "--", "sh", "-c", "echo $$; exec sleep 100")
	j.out.await(t, "\n")
	pid := j.pid(t)
	require.NoError(t, j.Process.Kill())
	<-j.done
	i, err := admin.Inspect(t.Context(), s.engine(t), "name")
	require.NoError(t, err)
	require.LessOrEqual(t, i.Left, quickTTL)
	awaitGone(t, pid)
	stdout, stderr, code := s.run(t, "exec", "name", "--", "echo", "ran")
	require.Zero(t, code, stderr)
	require.Equal(t, "ran\n", stdout)
}

func TestSignalsArePassedOnAndTheLockIsReleasedAfterTheCommand(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		end := filepath.Join(t.TempDir(), "end")
		j := s.start(t, "exec", "name", "--", "sh", "-c", `trap 'echo got it; while ! [ -e "$0" ]; do sleep 0.02; done; exit 9' INT TERM HUP QUIT; echo ready; while :; do sleep 0.02; done`, end)
		j.out.await(t, "ready")
		require.NoError(t, j.Process.Signal(sig))
		j.out.await(t, "got it")
		_, err := s.engine(t).TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.NoError(t, os.WriteFile(end, nil, 0o600))
		require.Equal(t, 9, j.code(t), j.log)
		require.Empty(t, redistest.Keys(t, s.masters...))
	}
}

// pid returns the process id that a command has written.
func (j *job) pid(t *testing.T) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(j.out.String()))
	require.NoError(t, err)
	return pid
}

// awaitGone waits until a process has ended, even if nobody has reaped it.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, limit, 10*time.Millisecond)
}

func TestWhatTheCommandHasStartedHasTheGraceToo(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	// The shell ends at once; its child cleans up.
	j := s.start(t, "exec", "--ttl", "8s", "--grace", "4s", "name", "--", "sh", "-c",
		`sh -c 'trap "sleep 0.3; echo cleaned up; exit" TERM; echo ready; while :; do sleep 0.02; done' & wait`)
	j.out.await(t, "ready")
	s.forced(t, "name")
	require.Equal(t, exitLost, j.code(t))
	require.Contains(t, j.out.String(), "cleaned up")
}
