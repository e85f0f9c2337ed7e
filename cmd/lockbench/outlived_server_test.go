package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
)

func TestOnlyALossOfValidityThatNobodyAskedForHasAnExitCode(t *testing.T) {
	kept := bench.Totals{Acquired: 10}
	outlived := bench.Totals{Acquired: 10, Outlived: 1}
	objectives := func(text string) []result.Objective {
		o, err := result.ParseObjective(text)
		require.NoError(t, err)
		return []result.Objective{o}
	}
	for _, c := range []struct {
		name string
		plan plan.Plan
		r    bench.Result
		want bool
	}{
		{"none", plan.Plan{Command: "run"}, bench.Result{Impl: "redislock", Totals: kept}, false},
		{"a late quorum, which nobody held", plan.Plan{Command: "run"}, bench.Result{Impl: "muxlock", Totals: bench.Totals{LostValidity: 3, LateQuorum: 3}}, false},
		{"a hold", plan.Plan{Command: "run"}, bench.Result{Impl: "redislock", Totals: outlived}, true},
		{"a lock that was kept alive", plan.Plan{Command: "run"}, bench.Result{Impl: "muxlock", Totals: outlived, Holding: &bench.Holding{Lost: 1}}, true},
		{"judged by an objective", plan.Plan{Command: "run", Objectives: objectives("lost_validity_rate<50%")}, bench.Result{Impl: "redislock", Totals: outlived}, false},
		{"judged by another objective", plan.Plan{Command: "run", Objectives: objectives("outlived==1")}, bench.Result{Impl: "redislock", Totals: outlived}, false},
		{"an objective about something else", plan.Plan{Command: "run", Objectives: objectives("acquire.p99<1s")}, bench.Result{Impl: "redislock", Totals: outlived}, true},
		{"a minority that fails", plan.Plan{Command: "run", Masters: plan.Masters{Count: 3}, Faults: []faults.Fault{{Kind: faults.Stop}}}, bench.Result{Impl: "redislock", Totals: outlived}, false},
		{"a majority that fails", plan.Plan{Command: "run", Masters: plan.Masters{Count: 3}, Faults: []faults.Fault{{Kind: faults.Stop}, {Kind: faults.Stop, Master: 1}}}, bench.Result{Impl: "muxlock", Totals: outlived}, true},
		{"masters far away", plan.Plan{Command: "run", Masters: plan.Masters{Count: 3}, Faults: []faults.Fault{{Kind: faults.Delay}}}, bench.Result{Impl: "redislock", Totals: outlived}, true},
		{"of a rival in a sweep", plan.Plan{Command: "sweep"}, bench.Result{Impl: "redislock", Totals: outlived}, false},
		{"in a sweep", plan.Plan{Command: "sweep"}, bench.Result{Impl: "muxlock", Totals: outlived}, true},
		{"with chaos", plan.Plan{Command: "chaos"}, bench.Result{Impl: "muxlock", Totals: outlived}, false},
		{"of a rival", plan.Plan{Command: "compare"}, bench.Result{Impl: "redislock", Totals: outlived}, false},
		{"beside rivals", plan.Plan{Command: "compare"}, bench.Result{Impl: "muxlock", Totals: outlived}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.Valid.OK = true
			code, _ := judged(t.Context(), c.plan, nil, &c.r)
			require.Equal(t, map[bool]int{true: exitLost, false: exitOK}[c.want], code)
		})
	}
}
