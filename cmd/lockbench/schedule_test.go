package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

// costing is a load of its own, whose operations took a second of the processor each.
type costing string

func (c costing) Run(context.Context, bench.Config) (*bench.Result, error) {
	return &bench.Result{Impl: string(c), Client: bench.Client{CPUNsPerOp: 1e9}}, nil
}
func (costing) Close() error { return nil }

func TestOnlyWhatUsesTheWorkersIsChargedForThem(t *testing.T) {
	run := func(impls ...string) []*bench.Result {
		p := &plan{impls: impls, rounds: 1, cfg: bench.Config{Workers: 1, Duration: time.Second, Warmup: time.Second, TTL: time.Second}}
		open := func(p *plan) (targets []bench.Target) {
			for _, name := range p.impls {
				targets = append(targets, bench.Target{Name: name, Open: func(context.Context) (bench.Runner, error) { return costing(name), nil }})
			}
			return targets
		}
		results, err := rounds{p}.run(t.Context(), open, nil)
		require.NoError(t, err)
		return results
	}
	results := run("raw", "noop")
	require.Zero(t, results[0].Client.ToolCPUNsPerOp)
	require.Positive(t, results[1].Client.ToolCPUNsPerOp)
}
