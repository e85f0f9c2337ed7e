package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redistest"
)

func TestMastersCommandsNameWhatIsMissing(t *testing.T) {
	t.Parallel()
	const replace = "masters replace --masters a:1,b:1 "
	requireRefused(t, map[string]string{
		"masters init":                                                 "--masters",
		"masters init --masters here":                                  "--masters",
		"masters init --masters a:1,a:1":                               "--masters",
		"masters init --masters a:1 --max-ttl 0s":                      "--max-ttl",
		"masters init --masters a:1 --drift 0.5":                       "--drift",
		"masters init --masters a:1 --recover":                         "--above",
		"masters init --masters a:1 --above 7":                         "--recover",
		"masters init --masters a:1 --recover --above -7":              "--above",
		"masters init --masters a:1 --recover --above 7 --new-masters": "--new-masters",
		"masters replace --masters a:1 --with c:1 --for a:1":           "--masters",
		replace + "--with c:1":                                         "--for",
		replace + "--for a:1":                                          "--with",
		replace + "--with here --for a:1":                              "--with",
		replace + "--with c:1 --for a:1":                               "--all-clients-fence",
		"masters status --masters a:1 -o bench":                        "-o",
		"masters status --workers 3":                                   "--workers",
		"masters repair":                                               "--masters",
		"masters repair --masters a:1 --max-ttl 1s":                    "--max-ttl",
	})
}

func TestMastersAreSetUpLockedOnReplacedAndRecovered(t *testing.T) {
	t.Parallel()
	servers := redistest.Masters(t, 4)
	all := redistest.Addrs(servers)
	three, after := all[:3], all[1:]
	refused := func(want string, args ...string) {
		t.Helper()
		stdout, stderr, code := lockbench(t, args...)
		require.Equal(t, exitRun, code, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
	}
	set := func(command string, addrs []string, args ...string) []string {
		return append([]string{"masters", command, "--max-ttl", "1s", "--masters", strings.Join(addrs, ",")}, args...)
	}
	load := func(addrs []string) []string {
		return words("run --fencing --ttl 1s --max-ttl 1s --workers 2 --duration 500ms --warmup 0s -o json --masters " + strings.Join(addrs, ","))
	}
	succeeds := func(want string, args ...string) {
		t.Helper()
		stdout, stderr, code := lockbench(t, args...)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, want)
	}

	ok, list := members(t, three)
	require.False(t, ok)
	require.Contains(t, list[2].State, "not set up")
	refused("lockbench masters init", load(three)...)
	refused("every master must be up: 127.0.0.1:1: ", set("init", []string{all[0], "127.0.0.1:1"})...)
	const good = "all 3 masters are admitted members of one set"
	succeeds(good, set("init", three, "--new-masters")...)
	begun := time.Now()
	succeeds(good, set("init", three)...)
	require.Less(t, time.Since(begun), time.Second, "nothing is left to wait for")
	refused("MaxTTL: here 2s, at the masters 1s", set("init", three, "--max-ttl", "2s")...)
	ok, list = members(t, three)
	require.True(t, ok)
	require.Equal(t, member{all[0], list[0].Set, 2, time.Second, list[0].Members, true, "admitted", ""}, list[0])
	require.ElementsMatch(t, three, list[0].Members)

	stdout, stderr, code := lockbench(t, load(three)...)
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	require.Positive(t, number(t, doc, "totals.fenced"))
	require.Equal(t, number(t, doc, "totals.acquired"), number(t, doc, "totals.fenced"))

	for range 2 { // it may be run again
		succeeds("configure all clients with "+all[3]+" in the place of "+all[0], set("replace", three, "--with", all[3], "--for", all[0], "--all-clients-fence")...)
	}
	refused("none of the masters", set("replace", three, "--with", all[3], "--for", "127.0.0.1:1", "--all-clients-fence")...)
	refused("masters: here", load(three)...)
	ok, list = members(t, after)
	require.False(t, ok)
	require.Equal(t, 3, list[0].Generation)
	require.Contains(t, list[2].State, "lost its data: votes in 3s from when a client meets it")
	succeeds(good, "masters", "repair", "--masters", strings.Join(after, ","))
	stdout, stderr, code = lockbench(t, load(after)...)
	requireMeasured(t, code, stderr)
	require.Positive(t, number(t, requireFields(t, stdout), "totals.fenced"))

	for _, s := range servers[1:3] {
		redistest.Command(t, s, "FLUSHALL")
	}
	_, list = members(t, after)
	require.Contains(t, list[1].Do, "lockbench masters init --recover")
	refused("(--recover --above FENCE)", set("init", after)...)
	_, stderr, code = lockbench(t, set("init", after, "--recover", "--above", "123456789")...)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "s left: ")
	e, err := engine.New(t.Context(), engine.Config{Masters: after, TTL: time.Second, MaxTTL: time.Second, Fencing: true})
	require.NoError(t, err)
	defer e.Close()
	lock, err := e.Acquire(t.Context(), "x", 0)
	require.NoError(t, err)
	require.Greater(t, lock.Fence(), uint64(123456789))
}

func TestInitMayBeCutAndRunAgain(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Masters(t, 3))
	cmd := exec.Command(binary, "masters", "init", "--masters", strings.Join(addrs, ","))
	out, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	said := bufio.NewScanner(out)
	require.True(t, said.Scan())
	require.Regexp(t, `^(30|29|28)s left: .*; Ctrl-C is safe`, said.Text())
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.True(t, said.Scan())
	require.Equal(t, "lockbench: interrupted: nothing is broken, run it again", said.Text())
	exit := (*exec.ExitError)(nil)
	require.True(t, errors.As(cmd.Wait(), &exit))
	require.Equal(t, exitInterrupted, exit.ExitCode())

	ok, _ := members(t, addrs)
	require.False(t, ok)
	_, stderr, code := lockbench(t, "masters", "init", "--new-masters", "--masters", strings.Join(addrs, ","))
	require.Zero(t, code, stderr)
}
