package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/engine/groups"
	"muxlock/internal/testing/redistest"
)

func TestAFileOfSettingsNamesGroupsOfMasters(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 6)
	addrs := redistest.Addrs(masters)
	red, blue := strings.Join(addrs[:3], ","), strings.Join(addrs[3:], ",")
	file := filepath.Join(t.TempDir(), "muxlock.conf")
	run := func(args ...string) (stdout, stderr string, code int) {
		t.Helper()
		return muxlock(t, append([]string{"--config", file}, args...)...)
	}
	write := func(line string) {
		require.NoError(t, os.WriteFile(file, []byte(line+"\nMUXLOCK_NEW_MASTERS=true\nMUXLOCK_MASTER_TIMEOUT=2s\n"), 0o600))
	}
	write("MUXLOCK_GROUPS=red=" + red + " blue=" + blue)

	cfg := (&set{}).config()
	cfg.Masters = nil
	e, err := groups.New(t.Context(), groups.Config{Config: cfg, Groups: map[string][]string{"red": addrs[:3], "blue": addrs[3:]}})
	require.NoError(t, err)
	defer e.Close()
	_, err = admin.Check(t.Context(), e.Engine)
	require.ErrorIs(t, err, engine.ErrInvalid)
	require.ErrorContains(t, err, "Groups", "it says what to check")
	inRed := 0
	for i := range 8 {
		name := fmt.Sprint("name", i)
		lock, err := e.Acquire(t.Context(), name, 0)
		require.NoError(t, err)
		require.NoError(t, lock.KeepAlive(0))
		if redistest.Get(t, masters, name)[1] != "" {
			inRed++
		}
		out, stderr, code := run("status", name)
		require.Equal(t, 0, code, stderr)
		require.Contains(t, out, name+" is held on 3 of 3 masters by the test")
	}
	require.Greater(t, inRed, 0)
	require.Less(t, inRed, 8)
	out, stderr, code := run("ls")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, 8, strings.Count(out, "3 of 3"), out)

	_, stderr, code = run("exec", "--try", "name0", "--", "true")
	require.Equal(t, exitTaken, code)
	require.Contains(t, stderr, "by the test")
	_, stderr, code = run("release", "--force", "--yes", "name0")
	require.Equal(t, 0, code, stderr)
	out, stderr, code = run("exec", "--try", "name0", "--", "echo", "held")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "held\n", out)

	for args, text := range map[string]string{
		"doctor": "set --masters in place of --groups",
		"status --masters a:1 --groups red=a:1 name0":                "exclude each other",
		"status --groups= --masters a:1 --next-groups red=a:1 name0": "--next-groups needs --groups",
	} {
		_, stderr, code = run(strings.Fields(args)...)
		require.Equal(t, exitUsage, code, stderr)
		require.Contains(t, stderr, text)
	}
	for _, args := range []string{"doctor --for 100ms", "masters status", "ls"} {
		stdout, stderr, code := run(append(strings.Fields(args), "--masters", red)...)
		require.NotEqual(t, exitUsage, code, stderr)
		require.NotEmpty(t, stdout)
		require.NotContains(t, stdout, addrs[3])
	}
	_, stderr, code = muxlockEnv(t, cleanEnv("MUXLOCK_MASTERS=127.0.0.1:1"), "--config", file, "ls")
	require.Equal(t, exitRun, code)
	require.Contains(t, stderr, "127.0.0.1:1", "the environment comes before the file")
	stdout, stderr, code := muxlockEnv(t, cleanEnv("MUXLOCK_MASTERS=127.0.0.1:1", "MUXLOCK_NEW_MASTERS=true", "MUXLOCK_MASTER_TIMEOUT=2s"), "ls", "--groups", "red="+red+" blue="+blue)
	require.Equal(t, 0, code, stderr)
	require.Equal(t, 7, strings.Count(stdout, "3 of 3"), stdout)
	note := redistest.Get(t, masters, "__muxlock__:groups:")
	write("MUXLOCK_GROUPS=red=" + red + " blue=" + blue + "\nMUXLOCK_NEXT_GROUPS=red=" + red)
	for _, args := range []string{"status name1", "ls", "ls --masters " + red, "release --force --yes name1"} {
		_, stderr, code = run(strings.Fields(args)...)
		require.Equal(t, 0, code, stderr)
		require.Equal(t, note, redistest.Get(t, masters, "__muxlock__:groups:"), "%s changes no map", args)
	}
	write("MUXLOCK_GROUPS=red=" + red)
	_, stderr, code = run("status", "name0")
	require.Equal(t, exitRun, code)
	require.Contains(t, stderr, engine.ErrConfigMismatch.Error())
	require.Regexp(t, `the masters have --groups [0-9a-f]{16} and --next-groups none, this process has --groups [0-9a-f]{16} and --next-groups none: .*--groups, --next-groups`, stderr)
	write("MUXLOCK_GROUPS=red=" + red + "\nMUXLOCK_MASTERS=" + red)
	_, stderr, code = run("ls")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "exclude each other")
	write("MUXLOCK_GROUPS=red")
	_, stderr, code = run("status", "name0")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--groups is not like red=a:6379")
}

func TestMastersOfACommandLineReplaceNoGroupsForALock(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	red := strings.Join(redistest.Addrs(s.masters), ",")
	file := filepath.Join(t.TempDir(), "muxlock.conf")
	require.NoError(t, os.WriteFile(file, []byte("MUXLOCK_GROUPS=red="+red+" blue=127.0.0.1:1\nMUXLOCK_NEW_MASTERS=true\n"), 0o600))
	inEnv := cleanEnv("MUXLOCK_GROUPS=red="+red, "MUXLOCK_NEW_MASTERS=true", "MUXLOCK_MASTER_TIMEOUT=2s")
	byEnv := cleanEnv("MUXLOCK_MASTERS=" + red)
	for args, usage := range map[string]int{"exec --try a -- echo SECOND": exitOurs, "lock --try a": exitOurs, "release --force --yes a": exitUsage} {
		args := strings.Fields(args)
		given := append([]string{args[0], "--masters", red}, args[1:]...)
		for _, run := range []struct {
			env, args []string
			where     string
		}{
			{inEnv, given, "the environment"},
			{cleanEnv(), append([]string{"--config", file}, given...), file},
			{byEnv, append([]string{"--config", file}, args...), file},
		} {
			stdout, stderr, code := muxlockEnv(t, run.env, run.args...)
			require.Equal(t, usage, code, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, "muxlock: --masters (MUXLOCK_MASTERS) takes the place of the groups in "+run.where+", and a lock would not exclude those who lock by the groups")
		}
	}
	require.Empty(t, redistest.Keys(t, s.masters...))
	stdout, stderr, code := muxlockEnv(t, inEnv, "status", "--masters", red, "a")
	require.Equal(t, exitFree, code, stderr)
	require.Contains(t, stdout, "a is free", "who only looks may look at one group")
}

func TestANoteOfGroupsThatIsNoneIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for _, m := range s.masters {
		redistest.Command(t, m, "RPUSH", "__muxlock__:groups:", "x")
	}
	_, stderr, code := s.run(t, "exec", "--groups", "red="+strings.Join(redistest.Addrs(s.masters), ","), "--wait", asks, "name", "--", "true")
	require.Equal(t, exitOurs, code, stderr)
	require.Contains(t, stderr, "key holds no lock: WRONGTYPE")
}
