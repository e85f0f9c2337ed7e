package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/usage"
)

// CHANGELOG promises them.
func TestExitCodesAreTheirNumbers(t *testing.T) {
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 7}, []int{exitOK, exitRun, exitUsage, exitMissed, exitUnsafe, exitNotValid, exitLost})
	require.Equal(t, []int{130, 141}, []int{exitInterrupted, exitPipe})
}

func TestObjectivesDecideTheExitCode(t *testing.T) {
	for slo, want := range map[string]int{
		"acquire.p50<1m":    exitOK,
		"throughput>1M":     exitMissed,
		"acquire.p99.99<1m": exitNotValid, // too few samples
	} {
		stdout, stderr, code := within(t, loads(steady).open, "run", "--slo", "overlaps==0", "--slo", slo)
		require.Equal(t, want, code, "%s: %s", slo, stderr)
		require.Contains(t, stdout, "SLO  "+slo)
		require.Contains(t, stdout, "SLO  overlaps==0")
		if want != exitOK {
			require.Contains(t, stderr, slo)
		}
	}
}

func TestOnlyASafetyViolationIsToldBeforeALostResult(t *testing.T) {
	unsafe, missed, lost := usage.Exitf(exitUnsafe, "overlap"), usage.Exitf(exitMissed, "slow"), usage.Exitf(exitRun, "full")
	for _, c := range []struct {
		judged, writing error
		want            int
	}{
		{nil, nil, exitOK}, {missed, nil, exitMissed}, {nil, lost, exitRun}, {missed, lost, exitRun},
		{unsafe, lost, exitUnsafe}, {unsafe, closedPipe, exitUnsafe}, {missed, closedPipe, exitPipe},
	} {
		code, _ := exitCode(worst(c.judged, c.writing))
		require.Equal(t, c.want, code, c)
	}
}

// judged returns the exit code and the text of a plan's runs.
func judged(ctx context.Context, p plan.Plan, runErr error, results ...*bench.Result) (code int, text string) {
	err := judge(ctx, &p, &result.Document{Results: results}, runErr)
	if code, _ = exitCode(err); err != nil {
		text = err.Error()
	}
	return code, text
}

func TestAVerdictNamesTheRunAndWhy(t *testing.T) {
	missed := bench.SLO{Text: "acquire.p99<5ms", Unit: bench.UnitNs, Value: 7.25e6}
	for want, c := range map[string]struct {
		code int
		bad  bench.Result
	}{
		"SAFETY VIOLATION: of let 1 holders overlap":                                       {exitUnsafe, bench.Result{Safety: bench.Safety{Overlaps: 1}}},
		"SAFETY VIOLATION: of gave 2 locks a fence that is not larger than the one before": {exitUnsafe, bench.Result{Safety: bench.Safety{FenceViolations: 2}}},
		"LOST VALIDITY: of round 3: 1 of 10 locks were not valid any more while they were held (--slo 'outlived_rate<1%' says how many may be)": {
			exitLost, bench.Result{Totals: bench.Totals{Acquired: 10, Outlived: 1}},
		},
		"not valid: of round 3: rate not met": { // so it misses nothing
			exitNotValid, bench.Result{SLO: []bench.SLO{missed}, Valid: bench.Valid{Reasons: []bench.Reason{{Kind: bench.ReasonRate}}}},
		},
		"missed: of round 3: acquire.p99<5ms: 7.25ms": {exitMissed, bench.Result{SLO: []bench.SLO{{Text: "b", Reason: "too few"}, missed, {Text: "c", Pass: true}}}},
		"not judged: of round 3: jain>1: too few":     {exitNotValid, bench.Result{SLO: []bench.SLO{{Text: "jain>1", Reason: "too few"}}}},
	} {
		bad := c.bad
		bad.Impl, bad.Round, bad.Setting = "muxlock", 3, map[string]string{"ttl": "25ms"}
		bad.Valid.OK = bad.Valid.Reasons == nil
		code, text := judged(t.Context(), plan.Plan{Command: "sweep"}, nil, &bench.Result{Impl: "muxlock", Valid: bench.Valid{OK: true}}, &bad)
		require.Equal(t, strings.Replace(want, ": of ", ": muxlock  ttl=25ms ", 1), text)
		require.Equal(t, c.code, code, want)
	}
}

func TestTheWorstVerdictDecidesTheExitCode(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	good := &bench.Result{Valid: bench.Valid{OK: true}}
	overlap := &bench.Result{Safety: bench.Safety{Overlaps: 1}}
	invalid := &bench.Result{Valid: bench.Valid{Reasons: []bench.Reason{{Kind: bench.ReasonRate}}}}
	few := &bench.Result{Valid: bench.Valid{Reasons: []bench.Reason{{Kind: bench.ReasonFew}}}}
	tried := &bench.Result{Valid: bench.Valid{Reasons: []bench.Reason{{Kind: bench.ReasonFew}, {Kind: bench.ReasonGenerator}, {Kind: result.ReasonEmbedded}}}}
	stuck := &bench.Result{Valid: bench.Valid{Reasons: []bench.Reason{{Kind: bench.ReasonRate}, {Kind: result.ReasonEmbedded}}}}
	for _, c := range []struct {
		ctx     context.Context
		results []*bench.Result
		err     error
		want    int
	}{
		{t.Context(), []*bench.Result{good}, nil, exitOK},
		{t.Context(), []*bench.Result{good, invalid}, nil, exitNotValid},
		{t.Context(), []*bench.Result{few}, nil, exitNotValid},
		{t.Context(), []*bench.Result{tried}, nil, exitOK},
		{t.Context(), []*bench.Result{stuck}, nil, exitNotValid},
		{t.Context(), []*bench.Result{invalid}, errors.New("broke"), exitRun},
		{ended, []*bench.Result{good}, nil, exitInterrupted},
		{ended, []*bench.Result{invalid}, errors.New("broke"), exitInterrupted},
		{ended, []*bench.Result{invalid, overlap}, errors.New("broke"), exitUnsafe},
	} {
		code, _ := judged(c.ctx, plan.Plan{}, c.err, c.results...)
		require.Equal(t, c.want, code)
	}
}

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
