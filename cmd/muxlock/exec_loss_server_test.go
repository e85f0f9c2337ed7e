//go:build linux

package main

import (
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
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// forced releases a name by force, as from another machine.
func (s *set) forced(t *testing.T, name string) {
	t.Helper()
	require.Contains(t, s.ok(t, "release --force --yes", name), "was deleted on 3 of 3 masters")
}

// quick is a lease of a run whose loss is noticed soon.
const quick = "--ttl=6s"

func TestALossEndsTheCommandAndWhatItHasStarted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		grace  time.Duration
		script string
		out    string // of the end
		said   []string
	}{
		"SIGTERM": {time.Hour, `trap 'echo bye; exit 7' TERM` + forever, "ready\nbye\n",
			[]string{`muxlock: "name" was lost: `, `"name" was lost while the command ran, which ended with exit status 7`}},
		"SIGKILL after the grace": {300 * time.Millisecond, `trap '' TERM` + forever, "", []string{"gets SIGTERM, and SIGKILL in 300ms", "ended with signal: killed"}},
		// In the next two the shell ends at once. Its child ignores SIGTERM, or cleans up.
		"children":              {time.Second, `sh -c 'trap "" TERM; echo $$ ready; exec sleep 100' & wait`, "", nil},
		"the grace of children": {time.Hour, `sh -c 'trap "sleep 0.3; echo cleaned up; exit" TERM` + forever + `' & wait`, "cleaned up\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, tell := supervised(t, c.grace, 0, c.script)
			tell("lost")
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
	j, tell := bare.with(firstProcess+"=1").supervised(t, exec.Command(redistest.Program(t), "300ms", "0s",
		`trap '' TERM; sh -c 'echo $$ ready; exec sleep 100' & while :; do sleep 0.02; done`))
	tell("lost")
	j.ends(t, exitLost)
	awaitGone(t, j.pid(t))
}

func TestALockThatCannotBeRenewedEndsTheCommandBeforeTheLease(t *testing.T) {
	t.Parallel()
	j, tell := supervised(t, time.Hour, 0, `trap 'echo bye; exit 7' TERM`+forever)
	tell("30m") // less than the grace
	j.out.await(t, "bye")
	j.ends(t, exitLost)
	require.Contains(t, j.log.String(), `"name" cannot be renewed, it is held on 1 of 3 masters; the command gets SIGTERM, and SIGKILL in `)
	_, kill, _ := strings.Cut(j.log.String(), "SIGKILL in ")
	kill, _, _ = strings.Cut(kill, "\n")
	grace, err := time.ParseDuration(kill)
	require.NoError(t, err)
	require.LessOrEqual(t, grace, 30*time.Minute, "only the rest of the lease")
	require.NotContains(t, j.log.String(), "was lost:", "SIGTERM came before that")
}

func TestALateAnswerThatRenewedTheLockLeavesTheCommandAlone(t *testing.T) {
	t.Parallel()
	j, tell := supervised(t, time.Minute, 0, `trap 'exit 7' TERM`+forever)
	tell("2m") // more than the grace
	j.ends(t, 7, syscall.SIGTERM)
	require.NotContains(t, j.log.String(), "muxlock") // a shell may say that its child was terminated
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
	require.LessOrEqual(t, i.Left, 6*time.Second)
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
	pid, err := strconv.Atoi(strings.Fields(j.out.String())[0])
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
