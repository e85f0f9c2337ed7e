package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/session"
	"muxlock/internal/testing/redistest"
)

// The user of the documented ACL may lock the names of lockbench, and do nothing else.
func TestALeastPrivilegedUserRunsALoad(t *testing.T) {
	t.Parallel()
	var addrs []string
	for _, m := range redistest.Masters(t, 3) {
		redistest.Command(t, m, append([]string{"ACL", "SETUSER", "locks", "on", ">secret", "~lockbench:*", "~__muxlock__:*", "-@all"},
			words("+info +script|load +evalsha +set +get +del +pttl +pexpire")...)...)
		addrs = append(addrs, "redis://locks:secret@"+m.Addr())
	}
	doc, _ := measured(t, "run --new-masters --workers 4 --hold 1ms --duration 1s --warmup 0s --masters "+strings.Join(addrs, ","))
	require.Positive(t, doc.Results[0].ThroughputPerS)
	require.Empty(t, doc.Results[0].ErrorSamples)
}

func TestCompareShowsATableWithARawLoadToo(t *testing.T) {
	stdout, stderr, code := within(t, loads(steady).open, words("compare --embedded 3 --impl muxlock,redislock,raw --rounds 1 --workers 8")...)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "raw: ")
	require.Contains(t, stdout, "muxlock is, by rounds")
	require.Contains(t, stdout, "what they do not promise")
	require.Regexp(t, ` redislock: one server.*\(redislock v[\d.]+, go-redis v9\.\d+\.\d+, pool of \d+ to each master, the client repeats a failed command up to 3 times\)`, flat(stdout))
	require.Regexp(t, `(?m)^ *raw +1,000 `, stdout)
	require.Contains(t, stdout, "SPEED MEANS NOTHING")
}

func TestOnlyTheEngineIsOursAndHasNoCaveat(t *testing.T) {
	m := traits(result.Config{Settings: result.Settings{Impls: []string{"muxlock", "redislock", "raw"}}})
	require.Equal(t, []bool{true, false, false}, []bool{m["muxlock"].Ours, m["redislock"].Ours, m["raw"].Ours})
	require.Equal(t, []bool{true, false, false}, []bool{m["muxlock"].Caveat == "", m["redislock"].Caveat == "", m["raw"].Caveat == ""})
}

func TestARivalThatCannotRunOnTheMastersIsRefusedBeforeAnythingIsMeasured(t *testing.T) {
	t.Parallel()
	given := strings.Join(append(redistest.Addrs(redistest.Masters(t, 2)), "127.0.0.1:1"), ",")
	stdout, stderr, code := lockbench(t, "compare", "--masters", given, "--new-masters", "--impl", "muxlock,redsync-goredis", "--duration", "100ms")
	require.Equal(t, exitUsage, code)
	require.Empty(t, stdout)
	require.Regexp(t, `^lockbench: --impl redsync-goredis cannot run on these masters: .*127\.0\.0\.1:1.*\nSee `, stderr)
	measured(t, "run --new-masters --duration 100ms --warmup 0s --masters "+given)
}

func TestWithoutAServerProgramItTriesEmbeddedMasters(t *testing.T) {
	t.Parallel()
	env := append(os.Environ(), "PATH="+t.TempDir())
	stdout, stderr, _ := lockbenchEnv(t, env, "run", "--duration", "100ms", "--warmup", "20ms")
	require.Contains(t, stderr, "apt-get install redis-server")
	require.Contains(t, stdout, "5 masters (embedded")

	_, stderr, code := lockbenchEnv(t, env, "run", "--local", "3")
	require.Equal(t, exitRun, code, "asked for, so not replaced")
	require.Contains(t, stderr, "apt-get install redis-server")
}

func TestGivenMastersAreSetUpForFencingBefore(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Masters(t, 3))
	stdout, stderr, code := within(t, session.Open, "run", "--fencing", "--masters", strings.Join(addrs, ","))
	require.Equal(t, exitRun, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "muxlock masters init")
}

// Each setting sets the masters up anew, even with another number of masters or another longest lease.
func TestASweepSetsMastersUpForEachSetting(t *testing.T) {
	t.Parallel()
	for _, param := range []string{"masters=3,1", "ttl=10s,100s"} {
		doc, _ := measured(t, "sweep --fencing --workers 2 --hold 1ms --duration 800ms --warmup 0s --fault kill:1@600ms-650ms --param "+param)
		for _, r := range doc.Results {
			require.Positive(t, r.Totals.Fenced)
		}
	}
}

func TestChaosFencesUnlessItIsToldOtherwiseOrCannot(t *testing.T) {
	for line, want := range map[string]bool{"": true, "--fencing=false": false, "--impl redislock": false} {
		p := planned(t, line)
		require.Equal(t, want, p.Fencing, line)
		require.NotEqual(t, want, strings.Contains(again(result.Document{Config: result.Config{Settings: p.Settings, Command: "chaos"}}), "--fencing=false"), "and can be pasted")
	}
}

// Package plan tries what --config takes from a file.
func TestAnEarlierRunIsDoneAgain(t *testing.T) {
	name := keep(t, steady, "run --embedded 3 --groups 2 --keys 20 --procs 2 --rounds 2 --hold exp:1ms --seed 77 --slo throughput>1")
	first, err := result.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, 2, first.Config.Groups)
	require.Len(t, first.Config.Masters, 6)
	require.Len(t, first.Results, 2)
	require.Equal(t, 6, first.Results[0].Masters)

	again, err := result.ReadFile(keep(t, steady, "run --config "+name))
	require.NoError(t, err)
	require.Equal(t, first.Config, again.Config)

	stdout, _, code := within(t, nil, "report", name)
	require.Equal(t, exitOK, code)
	require.Contains(t, stdout, "6 masters in 2 groups (embedded")
	_, stderr, code := within(t, nil, "advise", name)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "several groups of masters")
}

func TestASweepOfGroupsAddsMasters(t *testing.T) {
	doc, _ := made(t, steady, "sweep --local 1 --param groups=1,3")
	require.Len(t, doc.Config.Masters, 3)
	require.Len(t, doc.Results, 2)
	require.Equal(t, []int{1, 3}, []int{doc.Results[0].Masters, doc.Results[1].Masters})
}
