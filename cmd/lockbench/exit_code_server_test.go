package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
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
	t.Parallel()
	// At most 24,000 cycles, and on the busiest machine more than a p99 needs.
	const line = "run --embedded 1 --impl noop --workers 16 --think 1ms --duration 1500ms --warmup 0s"
	for slo, want := range map[string]int{
		"acquire.p99<1m":    exitOK,
		"throughput>1M":     exitMissed,
		"acquire.p99.99<1m": exitNotValid, // too few samples
	} {
		stdout, stderr, code := lockbench(t, append(words(line), "--slo", "overlaps==0", "--slo", slo)...)
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

func TestWhatIsMissedSaysMoreThanWhatCannotBeJudged(t *testing.T) {
	r := &bench.Result{Valid: bench.Valid{OK: true}, SLO: []bench.SLO{{Text: "b", Reason: "too few"}, {Text: "a"}, {Text: "c", Pass: true}}}
	code, _ := exitCode(judge(t.Context(), &plan.Plan{}, &result.Document{Results: []*bench.Result{r}}, nil))
	require.Equal(t, exitMissed, code)
	r.SLO[1] = bench.SLO{Text: "acquire.p99<5ms", Unit: bench.UnitNs, Value: 7.25e6}
	require.EqualError(t, judge(t.Context(), &plan.Plan{}, &result.Document{Results: []*bench.Result{r}}, nil), "missed:  round 0: acquire.p99<5ms: 7.25ms", "also what was measured")
	r.Invalidate(bench.ReasonRate, "")
	code, _ = exitCode(judge(t.Context(), &plan.Plan{}, &result.Document{Results: []*bench.Result{r}}, nil))
	require.Equal(t, exitNotValid, code, "figures that mean nothing miss nothing")
}

func TestAVerdictOnASweepNamesTheSetting(t *testing.T) {
	for name, bad := range map[string]bench.Result{
		"an overlap":         {Safety: bench.Safety{Overlaps: 1}},
		"a fence":            {Safety: bench.Safety{FenceViolations: 1}},
		"a loss of validity": {Totals: bench.Totals{Acquired: 10, Outlived: 1}},
		"not valid":          {Valid: bench.Valid{Reasons: []bench.Reason{{Kind: bench.ReasonRate}}}},
		"missed":             {SLO: []bench.SLO{{Text: "jain>1"}}},
		"not judged":         {SLO: []bench.SLO{{Text: "jain>1", Reason: "too few"}}},
	} {
		bad.Impl, bad.Setting = "muxlock", map[string]string{"ttl": "25ms"}
		err := judge(t.Context(), &plan.Plan{Command: "sweep"}, &result.Document{Results: []*bench.Result{{Impl: "muxlock", Valid: bench.Valid{OK: true}}, &bad}}, nil)
		require.ErrorContains(t, err, "muxlock  ttl=25ms ", name)
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
		{ended, []*bench.Result{invalid}, errors.New("broke"), exitInterrupted},
		{ended, []*bench.Result{invalid, overlap}, errors.New("broke"), exitUnsafe},
	} {
		code, _ := exitCode(judge(c.ctx, &plan.Plan{}, &result.Document{Results: c.results}, c.err))
		require.Equal(t, c.want, code)
	}
}
