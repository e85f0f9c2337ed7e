package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

func TestMastersAreSetUpLockedOnReplacedAndRecovered(t *testing.T) {
	t.Parallel()
	servers := redistest.Masters(t, 4)
	all := redistest.Addrs(servers)
	three, after := all[:3], all[1:]
	refused := func(want string, args ...string) {
		t.Helper()
		stdout, stderr, code := muxlock(t, args...)
		require.Equal(t, exitRun, code, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
	}
	set := func(command string, addrs []string, args ...string) []string {
		return append([]string{"masters", command, "--max-ttl", "4s", "--master-timeout", "3900ms", "--masters", strings.Join(addrs, ",")}, args...)
	}
	exec := func(addrs []string) (stdout, stderr string, code int) {
		t.Helper()
		return muxlock(t, "exec", "--fencing", "--ttl", "4s", "--max-ttl", "4s", "--master-timeout", "2s", "--masters", strings.Join(addrs, ","), "name", "--", "sh", "-c", "echo $MUXLOCK_FENCE")
	}
	fence := func(addrs []string) (fence uint64) {
		t.Helper()
		stdout, stderr, code := exec(addrs)
		require.Zero(t, code, stderr)
		_, err := fmt.Sscan(stdout, &fence)
		require.NoError(t, err)
		return fence
	}
	succeeds := func(want string, args ...string) {
		t.Helper()
		stdout, stderr, code := muxlock(t, args...)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, want)
	}

	ok, list := members(t, three)
	require.False(t, ok)
	require.Contains(t, list[2].State, "not set up")
	_, stderr, code := exec(three)
	require.Equal(t, exitOurs, code)
	require.Contains(t, stderr, "muxlock masters init")
	refused("every master must be up: 127.0.0.1:1: ", set("init", []string{all[0], "127.0.0.1:1"})...)
	const good = "all 3 masters are admitted members of one set"
	succeeds(good, set("init", three, "--new-masters")...)
	begun := time.Now()
	succeeds(good, set("init", three)...)
	require.Less(t, time.Since(begun), shortWait, "nothing is left to wait for")
	refused("muxlock: masters are set up otherwise: 127.0.0.1:", set("init", three, "--max-ttl", "5s")...)
	refused("--max-ttl: here 5s, at the masters 4s", set("init", three, "--max-ttl", "5s")...)
	ok, list = members(t, three)
	require.True(t, ok)
	require.Equal(t, member{all[0], list[0].Set, 2, 4 * time.Second, list[0].Members, true, "admitted", ""}, list[0])
	require.ElementsMatch(t, three, list[0].Members)

	first := fence(three)

	for range 2 { // it may be run again
		succeeds("configure all clients with "+all[3]+" in the place of "+all[0], set("replace", three, "--with", all[3], "--for", all[0], "--all-clients-fence")...)
	}
	refused("none of the masters", set("replace", three, "--with", all[3], "--for", "127.0.0.1:1", "--all-clients-fence")...)
	_, stderr, code = exec(three)
	require.Equal(t, exitOurs, code)
	require.Contains(t, stderr, "masters: here")
	ok, list = members(t, after)
	require.False(t, ok)
	require.Equal(t, 3, list[0].Generation)
	require.Contains(t, list[2].State, "lost its data: votes in 6s from when a client meets it")
	succeeds(good, "masters", "repair", "--masters", strings.Join(after, ","))
	require.Greater(t, fence(after), first)

	for _, s := range servers[1:3] {
		redistest.Command(t, s, "FLUSHALL")
	}
	_, list = members(t, after)
	require.Contains(t, list[1].Do, "muxlock masters init --recover")
	refused("(--recover --above FENCE)", set("init", after)...)
	_, stderr, code = muxlock(t, set("init", after, "--recover", "--above", "123456789")...)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "s left: ")
	require.Greater(t, fence(after), uint64(123456789))
}

func TestInitMayBeCutAndRunAgain(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Masters(t, 3))
	cmd := exec.Command(binary, "masters", "init", "--masters", strings.Join(addrs, ","))
	cmd.Env = cleanEnv()
	out, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	said := bufio.NewScanner(out)
	require.True(t, said.Scan())
	require.Regexp(t, `^muxlock: (30|29|28)s left: .*; Ctrl-C is safe`, said.Text())
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.True(t, said.Scan())
	require.Equal(t, "muxlock: interrupted: nothing is broken, run it again", said.Text())
	exit := (*exec.ExitError)(nil)
	require.True(t, errors.As(cmd.Wait(), &exit))
	require.Equal(t, exitSignal+int(syscall.SIGINT), exit.ExitCode())

	ok, _ := members(t, addrs)
	require.False(t, ok)
	_, stderr, code := muxlock(t, "masters", "init", "--new-masters", "--masters", strings.Join(addrs, ","))
	require.Zero(t, code, stderr)
}

func TestInitOfNewMastersAnnouncesNoWait(t *testing.T) {
	t.Parallel()
	servers := redistest.Masters(t, 3)
	require.NoError(t, servers[2].Pause())
	_, stderr, code := muxlock(t, "masters", "init", "--new-masters", "--master-timeout", "2s", "--masters", strings.Join(redistest.Addrs(servers), ","))
	require.NoError(t, servers[2].Resume())
	require.Equal(t, exitRun, code)
	require.Contains(t, stderr, "every master must be up")
	require.NotContains(t, stderr, "left")
}
