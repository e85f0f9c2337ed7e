package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/fencing"
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
		"masters status --masters a:1 -o csv":                          "-o",
		"masters status --workers 3":                                   "--workers",
	})
}

// members is what status shows of each master.
func members(t *testing.T, addrs []string) (ok bool, list []member) {
	t.Helper()
	stdout, stderr, code := lockbench(t, "masters", "status", "--masters", strings.Join(addrs, ","), "-o", "json")
	var doc struct {
		OK      bool
		Masters []member
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc), stderr)
	require.Equal(t, doc.OK, code == exitOK, stderr)
	return doc.OK, doc.Masters
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
	require.Contains(t, list[2].State, "not set up: lockbench masters init")
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
	require.Equal(t, member{all[0], list[0].Set, 1, time.Second, list[0].Members, true, "admitted"}, list[0])
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
	require.Equal(t, 2, list[0].Generation)
	require.Contains(t, list[2].State, "engines of the set admit it")
	require.Eventually(t, func() bool {
		_, stderr, code := lockbench(t, append(load(after), "--duration", "4s")...)
		requireMeasured(t, code, stderr)
		ok, _ := members(t, after)
		return ok
	}, time.Minute, time.Millisecond, "by one that serves for longer than the wait")

	for _, s := range servers[1:3] {
		redistest.Command(t, s, "FLUSHALL")
	}
	_, list = members(t, after)
	require.Contains(t, list[1].State, "like too many: lockbench masters init --recover")
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

func TestStatusSaysWhyAMasterDoesNotVote(t *testing.T) {
	one := fencing.NewSet("one", time.Second, []string{"a", "b", "c"}).Next([]string{"a", "b", "c"})
	two := one.Next([]string{"a", "b", "d"})
	begun := fencing.NewSet("one", time.Second, []string{"a", "b", "c"})
	other := fencing.NewSet("other", time.Second, []string{"a"}).Next([]string{"a"})
	at := func(address string, set fencing.Set, admitted bool) engine.Member {
		return engine.Member{Address: address, Set: set, Admitted: admitted}
	}
	for _, c := range []struct {
		found []engine.Member
		want  string // of the first that is not as it should be; empty: all are
		left  int
	}{
		{[]engine.Member{at("a", one, true), at("b", one, true), at("c", one, true)}, "", 0},
		{[]engine.Member{at("a", one, true), at("b", one, true)}, "names others", 2},
		{[]engine.Member{{Address: "a"}, {Address: "b"}}, "not set up", 2},
		{[]engine.Member{{Address: "a"}, at("b", one, true), at("c", one, true)}, "lost its data", 1},
		{[]engine.Member{{Address: "a", Err: errors.New("hung")}, at("b", one, true), at("c", one, true)}, "cannot be asked: hung", 1},
		{[]engine.Member{at("a", one, false), at("b", one, true), at("c", one, true)}, "was restarted", 1},
		{[]engine.Member{at("a", one, true), at("b", two, true), at("d", fencing.Set{}, false)}, "a change was cut", 2},
		{[]engine.Member{at("c", one, true), at("a", two, true), at("b", two, true)}, "is no master of the set", 3},
		{[]engine.Member{at("b", begun, true), at("a", begun, true), at("c", begun, true)}, "setting up was cut", 3},
		{[]engine.Member{at("b", one, true), at("c", one, true), at("a", other, true)}, "", 1},
	} {
		lines, _, left := states(c.found)
		require.Equal(t, c.left, left, c.want)
		require.Contains(t, lines[0].State, c.want)
	}
}
