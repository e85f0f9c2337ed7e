package plan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/usage"
)

func runFlags(t *testing.T, args ...string) (*pflag.FlagSet, *Flags) {
	t.Helper()
	var f Flags
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.Declare(fs, "muxlock", 1, "text")
	require.NoError(t, fs.Parse(args))
	return fs, &f
}

func TestEveryFlagOfALoadIsKept(t *testing.T) {
	fs, _ := runFlags(t)
	fs.VisitAll(func(f *pflag.Flag) { f.Changed = true })
	kept := map[string]bool{}
	for _, arg := range Arguments(fs) {
		s := settingsOf([]string{arg})[0]
		require.False(t, kept[s.Flag], "--%s is there twice", s.Flag)
		kept[s.Flag] = true
	}
	for _, name := range append(targetFlags, "output", "out", "html", "quiet", "config", "check", "new-masters") { // no flags of the load
		require.False(t, kept[name], name)
		kept[name] = true
	}
	fs.VisitAll(func(f *pflag.Flag) {
		_, list := f.Value.(pflag.SliceValue) // --fault and --slo are as often there as they are given
		require.True(t, kept[f.Name] || list, "--%s is not kept", f.Name)
	})
}

func TestArgumentsAreEveryChoiceAndCanBeGivenAgain(t *testing.T) {
	fs, f := runFlags(t, "--slo", "throughput>1", "--slo", "it's=5", "--fault", "stop:1@1s-2s", "--impl", "noop,redislock", "--seed", "7", "--masters", "a:1", "--new-masters")
	p, err := f.Plan("run", fs)
	require.Error(t, err) // it's no objective, and there is no fault on given masters
	require.Nil(t, p)
	args := []string{
		"--impl=noop,redislock", "--groups=1", "--op=acquire-release", "--workers=64", "--procs=1", "--duration=5s", "--warmup=1s",
		"--rounds=1", "--seed=7", "--probe-every=50ms", "--ttl=10s", "--fault=stop:1@1s-2s", "--slo=throughput>1", "--slo=it's=5",
	}
	require.Equal(t, args, Arguments(fs))

	other, g := runFlags(t)
	require.NoError(t, take(other, append(settingsOf(args), setting{Flag: "param", Value: "keys=1"})))
	require.Equal(t, args, Arguments(other))
	require.Equal(t, f.slos, g.slos)
}

func TestArgumentsOfALoadOverNamesMakeTheSamePlan(t *testing.T) {
	for _, args := range []string{"--keys 7", "--keys 7 --dist zipf:0.9", "--keys 7 --op hold", "--keys 7 --rate 500", "--workers 3"} {
		fs, f := runFlags(t, strings.Fields("--embedded 1 --new-masters=false "+args)...)
		p, err := f.Plan("run", fs)
		require.NoError(t, err, args)
		other, g := runFlags(t, "--embedded", "1")
		require.NoError(t, take(other, settingsOf(p.Args)))
		q, err := g.Plan("run", other)
		require.NoError(t, err, "%s: %q", args, p.Args)
		require.Equal(t, p.Load, q.Load, args)
		require.Equal(t, p.Args, q.Args)
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
		{own.String(), nil, bench.Dist{}, 0, ""},
		{own.String(), []string{"--keys", "5"}, bench.Uniform(), 5, ""},
		{zipf.String(), nil, bench.Zipf(1), 7, ""},
		{zipf.String(), []string{"--keys", "5"}, bench.Zipf(1), 5, ""},
		{zipf.String(), []string{"--dist", "uniform"}, bench.Uniform(), 7, ""},
		{zipf.String(), []string{"--dist", "own"}, bench.Dist{}, 0, ""},
		{strings.Replace(zipf.String(), "--impl=redislock", "--impl=unheard", 1), nil, bench.Dist{}, 0, "--impl"},
		{strings.Replace(zipf.String(), `"args"`, `"arguments"`, 1), nil, bench.Dist{}, 0, "has kept no flags"},
		{strings.Replace(zipf.String(), `"embedded"`, `"elsewhere"`, 1), nil, bench.Dist{}, 0, "elsewhere"},
		{strings.Replace(zipf.String(), `"embedded"`, `"given"`, 1), nil, bench.Dist{}, -1, ""},
		{strings.Replace(zipf.String(), `"target": "embedded"`, `"target": "given", "masters_redacted": true`, 1), nil, bench.Dist{}, 0, "name its masters again with --masters (m:1)"},
	} {
		name := filepath.Join(t.TempDir(), "r.json")
		require.NoError(t, os.WriteFile(name, []byte(c.file), 0o644))
		fs, f := runFlags(t, append(c.args, "--config", name)...)
		p, err := f.Plan("run", fs)
		if c.error != "" {
			require.ErrorContains(t, err, c.error)
			require.ErrorAs(t, err, new(usage.Error))
			continue
		}
		require.NoError(t, err)
		if c.keys >= 0 {
			require.Equal(t, c.dist, p.Load.Dist)
			require.Equal(t, c.keys, p.Load.Keys)
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
