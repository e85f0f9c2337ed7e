package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
)

// runFlags is the flags of run as a command line sets them.
func runFlags(t *testing.T, args ...string) (*cobra.Command, *flags) {
	t.Helper()
	var f flags
	cmd := &cobra.Command{Use: "run"}
	f.declare(cmd, "muxlock", 1, formats...)
	require.NoError(t, cmd.Flags().Parse(args))
	return cmd, &f
}

// keep runs and returns the name of the result file.
func keep(t *testing.T, args ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "result.json")
	_, stderr, code := lockbench(t, append(args, "-o", "json", "--out", name)...)
	requireMeasured(t, code, stderr)
	return name
}

func TestAnEarlierRunIsDoneAgain(t *testing.T) {
	t.Parallel()
	name := keep(t, "run", "--embedded", "3", "--impl", "redislock,muxlock", "--rounds", "2", "--rate", "300", "--arrivals", "uniform", "--dist", "zipf:0.9", "--keys", "7",
		"--hold", "exp:1ms", "--duration", "150ms", "--warmup", "10ms", "--ttl", "9s", "--wait", "1s", "--master-timeout", "2s", "--workers", "9",
		"--seed", "77", "--slo", "jain>0", "--slo", "overlaps==0")
	first, err := result.ReadFile(name)
	require.NoError(t, err)
	again, err := result.ReadFile(keep(t, "run", "--config", name))
	require.NoError(t, err)
	same := func(want, got result.Config) {
		want.Masters, got.Masters = nil, nil // new ones
		require.Equal(t, want, got)
	}
	same(first.Config, again.Config)
	require.Len(t, again.Config.Masters, 3)

	again, err = result.ReadFile(keep(t, "run", "--config", name, "--seed", "78", "--rounds", "1", "--embedded", "1", "--slo", "jain>0.1"))
	require.NoError(t, err)
	changed := first.Config
	changed.Seed, changed.Rounds, changed.SLO = 78, 1, []string{"jain>0.1", "failure_rate<=1%", "goodput>=95%"}
	changed.Args = words(strings.NewReplacer("seed=77", "seed=78", "rounds=2", "rounds=1", " --slo=overlaps==0", "", "jain>0", "jain>0.1").
		Replace(strings.Join(first.Config.Args, " ")))
	same(changed, again.Config)
	require.Len(t, again.Config.Masters, 1)
}

// A flag that takes part in the load and is not kept would make --config lie.
func TestEveryFlagOfALoadIsKept(t *testing.T) {
	cmd, _ := runFlags(t)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Changed = true })
	kept := map[string]bool{}
	for _, arg := range arguments(cmd) {
		s := settingsOf([]string{arg})[0]
		require.False(t, kept[s.flag], "--%s is there twice", s.flag)
		kept[s.flag] = true
	}
	for _, name := range append(targetFlags, "output", "out", "html", "quiet", "config", "check", "new-masters") { // these are not of the load
		require.False(t, kept[name], name)
		kept[name] = true
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, list := f.Value.(pflag.SliceValue) // --fault and --slo are as often there as they are given
		require.True(t, kept[f.Name] || list, "--%s is not kept", f.Name)
	})
}

func TestArgumentsAreEveryChoiceAndCanBeGivenAgain(t *testing.T) {
	cmd, f := runFlags(t, "--slo", "throughput>1", "--slo", "it's=5", "--fault", "stop:1@1s-2s", "--impl", "noop,redislock", "--seed", "7", "--masters", "a:1", "--new-masters")
	p, err := f.plan(cmd)
	require.Error(t, err) // it's no objective, and there is no fault on given masters
	require.Nil(t, p)
	args := []string{
		"--impl=noop,redislock", "--op=acquire-release", "--workers=64", "--procs=1", "--dist=own", "--duration=5s", "--warmup=1s",
		"--rounds=1", "--seed=7", "--probe-every=50ms", "--ttl=10s", "--fault=stop:1@1s-2s", "--slo=throughput>1", "--slo=it's=5",
	}
	require.Equal(t, args, arguments(cmd, "keys"))

	other, g := runFlags(t)
	require.NoError(t, take(other, append(settingsOf(args), setting{"param", []string{"keys=1"}})))
	require.Equal(t, args, arguments(other, "keys"))
	require.Equal(t, f.slos, g.slos)
}

func TestArgumentsOfALoadOverNamesMakeTheSamePlan(t *testing.T) {
	for _, args := range []string{"--keys 7", "--keys 7 --dist zipf:0.9", "--keys 7 --op hold", "--keys 7 --rate 500", "--workers 3"} {
		cmd, f := runFlags(t, words("--embedded 1 --new-masters=false "+args)...)
		p, err := f.plan(cmd)
		require.NoError(t, err, args)
		other, g := runFlags(t, "--embedded", "1")
		require.NoError(t, take(other, settingsOf(p.args)))
		q, err := g.plan(other)
		require.NoError(t, err, "%s: %q", args, p.args)
		require.Equal(t, p.cfg, q.cfg, args)
		require.Equal(t, p.args, q.args)
	}
}

func TestFlagsBesideAConfigOverrideWhatGoesWithThem(t *testing.T) {
	var own, zipf bytes.Buffer
	require.NoError(t, result.JSON(&own, documentOf(bench.Dist{}, 0)))
	require.NoError(t, result.JSON(&zipf, documentOf(bench.Zipf(1), 7)))
	for _, c := range []struct {
		file  string
		args  []string
		dist  bench.Dist
		keys  int
		error string
	}{
		{own.String(), nil, bench.Dist{}, 1000, ""},
		{own.String(), []string{"--keys", "5"}, bench.Uniform(), 5, ""},
		{zipf.String(), nil, bench.Zipf(1), 7, ""},
		{zipf.String(), []string{"--keys", "5"}, bench.Zipf(1), 5, ""},
		{zipf.String(), []string{"--dist", "uniform"}, bench.Uniform(), 7, ""},
		{zipf.String(), []string{"--dist", "own"}, bench.Dist{}, 1000, ""},
		{strings.Replace(zipf.String(), "--impl=redislock", "--impl=unheard", 1), nil, bench.Dist{}, 0, "--impl"},
		{strings.Replace(zipf.String(), `"args"`, `"arguments"`, 1), nil, bench.Dist{}, 0, "has kept no flags"},
		{strings.Replace(zipf.String(), `"embedded"`, `"elsewhere"`, 1), nil, bench.Dist{}, 0, "elsewhere"},
		{strings.Replace(zipf.String(), `"embedded"`, `"given"`, 1), nil, bench.Dist{}, 0, ""},
		{strings.Replace(zipf.String(), `"target": "embedded"`, `"target": "given", "masters_redacted": true`, 1), nil, bench.Dist{}, 0, "name its masters again with --masters (m:1)"},
	} {
		name := filepath.Join(t.TempDir(), "r.json")
		require.NoError(t, os.WriteFile(name, []byte(c.file), 0o644))
		cmd, f := runFlags(t, append(c.args, "--config", name)...)
		p, err := f.plan(cmd)
		if c.error != "" {
			require.ErrorContains(t, err, c.error)
			code, _ := exitCode(err)
			require.Equal(t, exitUsage, code)
			continue
		}
		require.NoError(t, err)
		if c.keys > 0 {
			require.Equal(t, c.dist, p.cfg.Dist)
			require.Equal(t, c.keys, p.cfg.Keys)
		}
	}
}

func documentOf(dist bench.Dist, keys int) result.Document {
	args := []string{"--impl=redislock", "--workers=2", "--dist=" + dist.String(), "--duration=1s", "--ttl=1s", "--seed=1"}
	if keys > 0 {
		args = append(args, fmt.Sprintf("--keys=%d", keys))
	}
	return result.NewDocument(result.Config{
		Config: bench.Config{Workers: 2, Keys: keys, Dist: dist, Duration: time.Second, TTL: time.Second, Seed: 1},
		Impls:  []string{"redislock"}, Rounds: 1, Masters: []string{"m:1"}, Target: "embedded", Args: args,
	}, nil)
}

func TestPasswordsAreNotKeptAndThatIsSaid(t *testing.T) {
	// Nobody listens there; the plan and the document are all that is looked at.
	cmd, f := runFlags(t, "--masters", "redis://user:secret@127.0.0.1:1", "--seed", "5")
	p, err := f.plan(cmd)
	require.NoError(t, err)
	doc := p.document(&masters.Set{Kind: masters.Given, Addrs: p.given}, nil)
	require.True(t, doc.Config.MastersRedacted)
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	require.NotContains(t, string(text), "secret")
}

func TestDamagedAndForeignFilesAreUsageErrors(t *testing.T) {
	t.Parallel()
	whole := read(t, keep(t, words(quick)...))
	dir := t.TempDir()
	for want, text := range map[string]string{
		"is empty":                            "",
		"is not JSON":                         "lockbench",
		"is cut off":                          whole[:len(whole)-9],
		"is JSON, but no result of lockbench": `{"results": []}`,
		"older lockbench: schema 1, which lockbench of commit 967aab1 reads": strings.Replace(whole, `"schema_version": 2`, `"schema_version": 1`, 1),
		"newer lockbench: schema 3, this one knows 2":                        strings.Replace(whole, `"schema_version": 2`, `"schema_version": 3`, 1),
		"no such file": "-",
	} {
		name := filepath.Join(dir, "r.json")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		if text == "-" {
			name += ".not"
		}
		for _, args := range [][]string{{"run", "--config", name}, {"report", name}} {
			stdout, stderr, code := lockbench(t, args...)
			require.Equal(t, exitUsage, code, stderr)
			require.Contains(t, stderr, want)
			require.Contains(t, stderr, "r.json")
			require.Empty(t, stdout)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}
