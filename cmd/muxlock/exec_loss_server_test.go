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
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/usage"
)

// forced releases a name by force, as from another machine.
func (s *set) forced(t *testing.T, name string) {
	t.Helper()
	require.Contains(t, s.ok(t, "release --force --yes", name), "was deleted on 3 of 3 masters")
}

const (
	quick    = "--ttl=6s" // so that a loss is noticed soon, and on a busy machine none is without a cause
	quickTTL = 6 * time.Second
)

func TestALossEndsTheCommandAndWhatItHasStarted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exec, script string
		out          string // of the end
		said         []string
	}{
		"SIGTERM": {quick, `trap 'echo bye; exit 7' TERM` + forever, "ready\nbye\n",
			[]string{`muxlock: "name" was lost: `, `"name" was lost while the command ran, which ended with exit status 7`}},
		"SIGKILL after the grace": {quick + " --grace 300ms", `trap '' TERM` + forever, "", []string{"gets SIGTERM, and SIGKILL in 300ms", "ended with signal: killed"}},
		// In the next two the shell ends at once. Its child ignores SIGTERM, or cleans up.
		"children":              {quick, `sh -c 'trap "" TERM; echo $$ ready; exec sleep 100' & wait`, "", nil},
		"the grace of children": {"--ttl 8s --grace 4s", `sh -c 'trap "sleep 0.3; echo cleaned up; exit" TERM` + forever + `' & wait`, "cleaned up\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSet(t)
			j := s.script(t, c.exec+" name", c.script)
			s.forced(t, "name")
			j.ends(t, exitLost)
			require.True(t, strings.HasSuffix(j.out.String(), c.out), j.out)
			for _, text := range c.said {
				require.Contains(t, j.log.String(), text)
			}
			if pid, err := strconv.Atoi(strings.Fields(j.out.String())[0]); err == nil {
				awaitGone(t, pid)
			}
		})
	}
}

func TestTheCommandGetsItsSignalBeforeThatIsSaid(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	h, err := acquire(t.Context(), groups.Config{Config: s.config()}, []string{"name"}, kind{}, true, io.Discard)
	require.NoError(t, err)
	out := newLines()
	c := exec.Command("sh", "-c", `trap 'echo bye; exit 7' TERM`+forever)
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
	s := newSet(t).with(firstProcess + "=1")
	j := s.start(t, "exec "+quick+" --grace 300ms name -- sh -c", `trap '' TERM; sh -c 'echo $$; exec sleep 100' & while :; do sleep 0.02; done`)
	j.out.await(t, "\n")
	s.forced(t, "name")
	j.ends(t, exitLost)
	awaitGone(t, j.pid(t))
}

func TestALockThatCannotBeRenewedEndsTheCommandBeforeTheLease(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	j := s.script(t, "--ttl 8s --grace 4s name", `trap 'echo bye; exit 7' TERM`+forever)
	for _, m := range s.masters[:2] {
		require.NoError(t, m.Pause())
		defer m.Resume()
	}
	j.out.await(t, "bye")
	j.ends(t, exitLost)
	require.Contains(t, j.log.String(), "cannot be renewed")
	require.NotContains(t, j.log.String(), "was lost:", "SIGTERM came before that")
}

func TestAMuxlockThatIsLateLeavesTheCommandOnlyTheRestOfTheLease(t *testing.T) {
	t.Parallel()
	s, ttl := ownSet(t), 4*time.Second
	j := s.script(t, "--ttl 4s --grace 2s name", `trap 'exit 7' TERM`+forever)
	lease := s.pauseAfterRenewal(t, "name", ttl)
	j.signal(t, syscall.SIGSTOP) // and the command goes on
	const left = time.Second
	<-time.After(time.Until(lease.Add(-left)))
	j.ends(t, exitLost, syscall.SIGCONT)
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
	s, end := newSet(t), filepath.Join(t.TempDir(), "end")
	j := s.script(t, "name", untilFile, end)
	s.forced(t, "name")
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	j.ends(t, exitLost)
	require.Contains(t, j.log.String(), "which ended with exit status 0")
}

func TestAKilledMuxlockTakesItsCommandWithItAndTheNameIsFreeAfterTheLease(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j := s.start(t, "exec "+quick+" name -- sh -c", "echo $$; exec sleep 100")
	j.out.await(t, "\n")
	pid := j.pid(t)
	require.NoError(t, j.Process.Kill())
	<-j.done
	i, err := admin.Inspect(t.Context(), s.engine(t), "name")
	require.NoError(t, err)
	require.LessOrEqual(t, i.Left, quickTTL)
	awaitGone(t, pid)
	require.Equal(t, "ran\n", s.ok(t, "exec name -- echo ran"))
}

func TestSignalsArePassedOnAndTheLockIsReleasedAfterTheCommand(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		end := filepath.Join(t.TempDir(), "end")
		j := s.script(t, "name", `trap 'echo got it; while ! [ -e "$0" ]; do sleep 0.02; done; exit 9' INT TERM HUP QUIT`+forever, end)
		j.signal(t, sig)
		j.out.await(t, "got it")
		_, err := s.engine(t).TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.NoError(t, os.WriteFile(end, nil, 0o600))
		j.ends(t, 9)
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
	await.Within(t, limit, func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
