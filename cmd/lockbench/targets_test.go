package main

import (
	"context"
	"io"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/internal/redistest"
)

func TestAComparisonShowsTheBestRivalFirst(t *testing.T) {
	run := func(impl string, throughput float64) *bench.Result {
		return &bench.Result{Impl: impl, ThroughputPerS: throughput}
	}
	results := []*bench.Result{
		run("muxlock", 9), run("rueidislock", 50), run("redsync-goredis", 1), run("redsync-rueidis", 3), run("redsync-goredis", 1), run("noop", 99), run("redislock", 60),
	}
	impls := []string{"noop", "redsync-goredis", "raw", "rueidislock", "redislock", "redsync-rueidis", "muxlock"}
	require.Equal(t, []string{"muxlock", "redsync-rueidis", "redsync-goredis", "redislock", "rueidislock", "noop", "raw"}, ranked(impls, "muxlock", results))
	require.Equal(t, "redislock", ranked(impls, "redislock", results)[0])

	for i, r := range results { // an open loop: the same throughput, the later the slower
		r.Latency.Response = &bench.Summary{Count: 1000, P: map[string]int64{"50": int64(i)}}
	}
	require.Equal(t, []string{"muxlock", "redsync-goredis", "redsync-rueidis", "rueidislock", "redislock", "noop", "raw"}, ranked(impls, "muxlock", results))
}

func TestThePoolIsTheSameForGivenMastersNearbyAndLocalOnes(t *testing.T) {
	p := &plan{cfg: bench.Config{Workers: 1024}}
	require.Equal(t, p.options(nil, masters.Local).Distant, p.options(nil, masters.Given).Distant)
	require.False(t, p.options(nil, masters.Given).Distant)
	p.engine.Distant = true
	require.True(t, p.options(nil, masters.Given).Distant)
	p.engine.Distant, p.faults = false, []faults.Fault{{Kind: faults.Delay}}
	require.True(t, p.options(nil, masters.Local).Distant)
}

// opened is the plans of a schedule that opens their targets and runs nothing.
type opened []*plan

func (o opened) count() int { return 0 }
func (o opened) run(_ context.Context, open func(*plan) []target, _ func(bench.Progress)) ([]*bench.Result, error) {
	for _, p := range o {
		open(p)
	}
	return nil, nil
}
func (o opened) complete(*result.Document)                           {}
func (o opened) judge(context.Context, []*bench.Result, error) error { return nil }

func TestThePoolGrowsWithTheDistanceAtEverySettingOfASweep(t *testing.T) {
	rig, err := faults.NewRig([]faults.Fault{{Kind: faults.Delay, Delay: bench.Fixed(10 * distant), Whole: true}}, redistest.Masters(t, 1))
	require.NoError(t, err)
	defer func() { require.NoError(t, rig.Close()) }()
	var f flags
	cmd := &cobra.Command{Use: "sweep"}
	f.declare(cmd, "redsync-goredis", 1, formats...)
	require.NoError(t, cmd.Flags().Parse([]string{"--masters", rig.Addrs()[0], "--quiet"}))
	workers, err := parseParam("workers=1,512")
	require.NoError(t, err)
	plans, err := f.plans(cmd, workers)
	require.NoError(t, err)

	plans[0].runs = opened(plans)
	doc, err := measure(t.Context(), plans[0], io.Discard)
	require.NoError(t, err)
	for _, p := range plans {
		require.True(t, p.options(nil, masters.Given).Distant, p.setting)
	}
	require.Equal(t, 512, doc.Config.Clients["redsync-goredis"].Pool, "the largest")
}

func TestWhatARivalRanOnStandsBesideItsCaveat(t *testing.T) {
	c := result.Config{Clients: map[string]rivals.Client{"redislock": {Versions: []string{"go-redis v9.9.9"}, Pool: 7}, "muxlock": {Versions: []string{"rueidis v1"}}}}
	c.Impls = []string{"muxlock", "redislock", "raw"}
	m := caveats(c)
	require.Contains(t, m["redislock"], "one server: the lock dies with it")
	require.Contains(t, m["redislock"], "(go-redis v9.9.9, pool of 7 to each master)")
	require.NotContains(t, m, "muxlock")
	require.NotEmpty(t, m["raw"])
	c.Clients = nil // an older document
	require.NotContains(t, caveats(c)["redislock"], "(go-redis")
}
