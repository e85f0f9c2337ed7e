package plan

import (
	"encoding/json"
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
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
)

const ms = time.Millisecond

// trial returns the trial of an advice on that load. Its holds are in the file.
func trial(t *testing.T, c result.Config, a *result.Advice, file string) (string, *Plan) {
	t.Helper()
	line := Trial(c, a, file)
	require.True(t, strings.HasPrefix(line, "lockbench run "), line)
	p := planned(t, wordsOf(line)...)
	require.GreaterOrEqual(t, p.Duration, 10*time.Second)
	return line, p
}

// measuredBy returns what a document keeps of a command on three local masters.
func measuredBy(t *testing.T, command string, args ...string) result.Config {
	t.Helper()
	p := planned(t, append([]string{"--local=3"}, args...)...)
	return result.Config{Settings: p.Settings, Command: command, Target: "local", Masters: []string{"h:1", "h:2", "h:3"}}
}

// measured is a quiet minute, with so many holds of that length; 0: none.
func measured(holds int64, hold time.Duration) sizing.Measured {
	m := sizing.Measured{Masters: 3, Watched: time.Minute}
	for i := range 1000 {
		m.Rounds = append(m.Rounds, sizing.Round{At: time.Duration(i) * 60 * ms, Trips: []time.Duration{ms, ms, ms}})
	}
	if holds > 0 {
		m.Holds = sizing.Count([]time.Duration{hold}, []int64{holds}, 0)
	}
	return m
}

// advised returns the advice for the given hold; empty: for the measured ones.
func advised(m sizing.Measured, hold string) *result.Advice {
	ask := sizing.Ask{RTO: time.Minute}
	if span, err := bench.ParseSpan(hold); err == nil {
		ask.Hold = &span
	}
	return &result.Advice{Ask: ask, Sizes: sizing.Size(m, ask)}
}

func TestATrialDrawsHoldsAsMeasuredOrGiven(t *testing.T) {
	line, p := trial(t, measuredBy(t, "run", "--rate=200", "--keys=50", "--hold=exp:20ms"), advised(measured(12_000, 20*ms), "exp:30ms"), "")
	require.Equal(t, bench.Exp(30*ms), p.Hold)
	require.NotContains(t, line, "--rate")
	require.NotContains(t, line, "--keys", "nobody waits for another")
	require.Equal(t, []string{"lost_validity_rate<=1%", "failure_rate<=1%"}, []string{p.Objectives[0].String(), p.Objectives[1].String()})
}

// 2000 locks are enough for a p99, and for 1 %.
func TestATrialIsLongEnough(t *testing.T) {
	for want, sizes := range map[string]sizing.Sizes{
		"248 10s":  {Needed: 3 * time.Second, MeanHold: time.Second, Trip: 80 * ms},
		"126 32s":  {Needed: 32 * time.Second / 3, MeanHold: 2 * time.Second},
		"125 33s":  {Needed: 32*time.Second/3 + 1, MeanHold: 2 * time.Second},
		"45 1m30s": {Needed: time.Minute, MeanHold: 2 * time.Second},
	} {
		sizes.Config.TTL = 30 * time.Second
		_, p := trial(t, measuredBy(t, "advise"), &result.Advice{Sizes: sizes, Ask: sizing.Ask{Hold: new(bench.Span)}}, "")
		require.Equal(t, want, fmt.Sprint(p.Workers, " ", p.Duration))
	}
}

// The measured holds are in the file that the advice is from.
func TestATrialDrawsTheHoldsOfTheFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, v any) string {
		file := filepath.Join(dir, name)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, text, 0o600))
		return file
	}
	h := bench.NewHistogram()
	h.Record(int64(20*ms), 900)
	h.Record(int64(500*ms), 100)
	s := h.Summary()
	r := &bench.Result{Impl: "muxlock", Round: 1, Masters: 3, DurationS: 60, Totals: bench.Totals{Acquired: 1000}, Latency: bench.Latencies{bench.AcquireTime: s, bench.ReleaseTime: s, bench.CycleTime: s, bench.HoldTime: s}}
	r.Client.Stall = &bench.Summary{}
	load := write("load", result.NewDocument(result.Config{}, []*bench.Result{r}))
	process := write("process", engine.Measurements{
		Version: 1, Span: time.Minute, Masters: []string{"h:1", "h:2", "h:3"},
		Acquires: engine.Durations{Count: 1000, Buckets: []engine.Bucket{{Most: ms, Count: 1000}}},
		Holds:    engine.Durations{Count: 1000, Buckets: []engine.Bucket{{Most: 20 * ms, Count: 900}, {Most: 500 * ms, Count: 100}}},
	})
	for _, file := range []string{load, process} {
		m := measured(0, 0)
		m.Holds = sizing.Count([]time.Duration{20 * ms, 500 * ms}, []int64{900, 100}, 0)
		line, p := trial(t, measuredBy(t, "run"), advised(m, ""), file)
		require.Contains(t, line, "--hold file:"+file)
		times := p.Hold.Samples()
		require.Len(t, times, 1000)
		require.InEpsilon(t, 20*ms, times[899], 0.01)
		require.InEpsilon(t, 500*ms, times[900], 0.01)
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.Var(Span{Span: new(bench.Span)}, "hold", "")
	for text, want := range map[string]string{`{"version":1,"span_ns":5,"masters":["a:1"]}`: "nothing was acquired", `{"a":1}`: "not what engine.Engine.Measured returns"} {
		file := filepath.Join(dir, "other")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.ErrorContains(t, fs.Set("hold", "file:"+file), want)
	}
	r.Latency[bench.HoldTime] = nil
	require.ErrorContains(t, fs.Set("hold", "file:"+write("none", result.NewDocument(result.Config{}, []*bench.Result{r}))), "has no holds")
}

func TestATrialOfRenewedLocksKeepsThemForAFewLeases(t *testing.T) {
	line, p := trial(t, measuredBy(t, "run", "--hold=20ms"), advised(measured(0, 0), "1h"), "")
	require.Equal(t, bench.Hold, p.Op)
	require.Equal(t, 30*time.Second, p.TTL)
	require.Equal(t, 90*time.Second, p.Duration)
	require.Contains(t, line, "'lost_validity_rate<=1%'")
}

func TestATrialHasTheMastersTheOperationAndTheFencesOfTheMeasurement(t *testing.T) {
	server := filepath.Join(t.TempDir(), "server")
	require.NoError(t, os.WriteFile(server, nil, 0o700))
	for _, op := range []string{"read-write:80", "many:5", "all:2", "permit:3", "try", "mix:acquire-release=9,try=1"} {
		load := measuredBy(t, "run", "--op="+op, "--server="+server, "--fencing", "--hold=20ms", "--procs=2")
		m := measured(0, 0)
		m.Fencing = true
		_, p := trial(t, load, advised(m, "20ms"), "")
		require.Equal(t, load.Op, p.Op)
		require.Equal(t, []string{server}, p.Programs)
		require.True(t, p.Fencing)
	}
	line, p := trial(t, result.Config{Command: "advise", Target: "given", Masters: []string{"h:1", "h:2", "h:3"}}, advised(measured(0, 0), "100ms"), "")
	require.Contains(t, line, "--masters h:1,h:2,h:3")
	require.Equal(t, bench.AcquireRelease, p.Op)
	_, p = trial(t, measuredBy(t, "run", "--op=hold"), advised(measured(0, 0), "1s"), "")
	require.Equal(t, bench.AcquireRelease, p.Op, "one that holds for a time")
	m := measured(0, 0)
	for i := range m.Rounds {
		m.Rounds[i].Trips = []time.Duration{80 * ms, 80 * ms, 80 * ms}
	}
	_, p = trial(t, measuredBy(t, "run"), advised(m, "1s"), "")
	require.Equal(t, 200*ms, p.MasterTimeout)
	require.Equal(t, 30*time.Second, p.MaxTTL)
}

func TestATrialHasTheFaultsOfTheWholeMeasurementAlone(t *testing.T) {
	load := measuredBy(t, "run", "--duration=40s", "--fault=delay:2:2ms@31s-32s", "--fault=stop:1@39s-40s", "--fault=delay:3:5ms", "--hold=20ms")
	for _, hold := range []string{"3s", "1h"} {
		_, p := trial(t, load, advised(measured(0, 0), hold), "")
		require.Len(t, p.Faults, 1, "others may be later than its end")
		require.Equal(t, "delay:3:5ms", p.Faults[0].Text)
	}
}

func TestTheMaxTTLOfARunIsItsFlagOrTheEnginesDefault(t *testing.T) {
	require.Equal(t, 30*time.Second, MaxTTL(measuredBy(t, "run").Settings))
	require.Equal(t, time.Minute, MaxTTL(measuredBy(t, "run", "--ttl=1m").Settings))
	require.Equal(t, 20*time.Second, MaxTTL(measuredBy(t, "run", "--max-ttl=20s").Settings))
}
