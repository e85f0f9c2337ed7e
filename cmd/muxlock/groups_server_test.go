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
	s := &set{env: []string{"MUXLOCK_CONFIG=" + file}}
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
		require.Contains(t, s.ok(t, "status", name), name+" is held on 3 of 3 masters by the test")
	}
	require.Greater(t, inRed, 0)
	require.Less(t, inRed, 8)
	require.Equal(t, 8, strings.Count(s.ok(t, "ls"), "3 of 3"))

	require.Contains(t, s.says(t, exitTaken, "exec --try name0 -- true"), "by the test")
	s.ok(t, "release --force --yes name0")
	require.Equal(t, "held\n", s.ok(t, "exec --try name0 -- echo held"))

	for args, text := range map[string]string{
		"doctor": "set --masters in place of --groups",
		"status --masters a:1 --groups red=a:1 name0":                "exclude each other",
		"status --groups= --masters a:1 --next-groups red=a:1 name0": "--next-groups needs --groups",
	} {
		require.Contains(t, s.says(t, exitUsage, args), text)
	}
	for _, args := range []string{"doctor --for 100ms", "masters status", "ls"} {
		stdout, stderr, code := s.run(t, args+" --masters "+red)
		require.NotEqual(t, exitUsage, code, stderr)
		require.NotEmpty(t, stdout)
		require.NotContains(t, stdout, addrs[3])
	}
	elsewhere := s.with("MUXLOCK_MASTERS="+nowhere, "MUXLOCK_NEW_MASTERS=true", "MUXLOCK_MASTER_TIMEOUT=2s")
	require.Contains(t, elsewhere.says(t, exitRun, "ls"), nowhere, "the environment comes before the file")
	require.Equal(t, 7, strings.Count(elsewhere.with("MUXLOCK_CONFIG=").ok(t, "ls --groups", "red="+red+" blue="+blue), "3 of 3"))
	note := redistest.Get(t, masters, "__muxlock__:groups:")
	write("MUXLOCK_GROUPS=red=" + red + " blue=" + blue + "\nMUXLOCK_NEXT_GROUPS=red=" + red)
	for _, args := range []string{"status name1", "ls", "ls --masters " + red, "release --force --yes name1"} {
		s.ok(t, args)
		require.Equal(t, note, redistest.Get(t, masters, "__muxlock__:groups:"), "%s changes no map", args)
	}
	write("MUXLOCK_GROUPS=red=" + red)
	stderr := s.says(t, exitRun, "status name0")
	require.Contains(t, stderr, engine.ErrConfigMismatch.Error())
	require.Regexp(t, `the masters have --groups [0-9a-f]{16} and --next-groups none, this process has --groups [0-9a-f]{16} and --next-groups none: .*--groups, --next-groups`, stderr)
	write("MUXLOCK_GROUPS=red=" + red + "\nMUXLOCK_MASTERS=" + red)
	require.Contains(t, s.says(t, exitUsage, "ls"), "exclude each other")
	write("MUXLOCK_GROUPS=red")
	require.Contains(t, s.says(t, exitUsage, "status name0"), "--groups is not like red=a:6379")
}

func TestMastersOfACommandLineReplaceNoGroupsForALock(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	red := strings.Join(redistest.Addrs(s.masters), ",")
	file := filepath.Join(t.TempDir(), "muxlock.conf")
	require.NoError(t, os.WriteFile(file, []byte("MUXLOCK_GROUPS=red="+red+" blue=127.0.0.1:1\nMUXLOCK_NEW_MASTERS=true\n"), 0o600))
	inEnv := bare.with("MUXLOCK_GROUPS=red="+red, "MUXLOCK_NEW_MASTERS=true", "MUXLOCK_MASTER_TIMEOUT=2s")
	inFile := bare.with("MUXLOCK_CONFIG=" + file)
	for line, usage := range map[string]int{"exec --try a%s -- echo SECOND": exitOurs, "lock --try a%s": exitOurs, "release --force --yes a%s": exitUsage} {
		given, none := fmt.Sprintf(line, " --masters "+red), fmt.Sprintf(line, "")
		for _, c := range []struct {
			*set
			line, where string
		}{{inEnv, given, "the environment"}, {inFile, given, file}, {inFile.with("MUXLOCK_MASTERS=" + red), none, file}} {
			stdout, stderr, code := c.run(t, c.line)
			require.Equal(t, usage, code, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, "muxlock: --masters (MUXLOCK_MASTERS) takes the place of the groups in "+c.where+", and a lock would not exclude those who lock by the groups")
		}
	}
	require.Empty(t, redistest.Keys(t, s.masters...))
	stdout, stderr, code := inEnv.run(t, "status a --masters "+red)
	require.Equal(t, exitFree, code, stderr)
	require.Contains(t, stdout, "a is free", "who only looks may look at one group")
}

func TestANoteOfGroupsThatIsNoneIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for _, m := range s.masters {
		redistest.Command(t, m, "RPUSH", "__muxlock__:groups:", "x")
	}
	require.Contains(t, s.says(t, exitOurs, "exec", "--groups", "red="+strings.Join(redistest.Addrs(s.masters), ","), "--wait", asks, "name", "--", "true"), "key holds no lock: WRONGTYPE")
}
