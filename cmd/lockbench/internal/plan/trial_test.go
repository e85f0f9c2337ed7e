package plan_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
)

const ms = time.Millisecond

// parsed returns the flags of a command for a shell, and their plan, which refuses what lockbench run refuses.
func parsed(t *testing.T, command string, args []string) (*pflag.FlagSet, *plan.Plan) {
	t.Helper()
	var f plan.Flags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Declare(fs, "muxlock", 1, "json")
	require.NoError(t, fs.Parse(args), args)
	p, err := f.Plan(command, fs)
	require.NoError(t, err, args)
	return fs, p
}

var shellWord = regexp.MustCompile(`'[^']*'|\S+`)

// trial returns the trial of an advice on that load.
func trial(t *testing.T, c result.Config, a *result.Advice) (string, *plan.Plan) {
	t.Helper()
	line := plan.Trial(c, a)
	words := shellWord.FindAllString(line, -1)
	for i := range words {
		words[i] = strings.Trim(words[i], "'")
	}
	require.Equal(t, []string{"lockbench", "run"}, words[:2])
	_, p := parsed(t, "run", words[2:])
	return line, p
}

// measuredBy returns what a document keeps of a command on three local masters.
func measuredBy(t *testing.T, command string, args ...string) result.Config {
	t.Helper()
	fs, p := parsed(t, command, append([]string{"--local=3"}, args...))
	c := result.Config{Config: p.Load, Command: command, Target: "local", Masters: []string{"h:1", "h:2", "h:3"}, Fencing: p.Engine.Fencing, Args: plan.Arguments(fs)}
	for _, f := range p.Faults {
		c.Faults = append(c.Faults, f.Text)
	}
	return c
}

// measured is a quiet minute, with so many holds of that length; 0: none.
func measured(holds int64, hold time.Duration) sizing.Measured {
	m := sizing.Measured{Masters: 3, Procs: 1, Watched: time.Minute}
	for i := range 1000 {
		m.Rounds = append(m.Rounds, sizing.Round{At: time.Duration(i) * 60 * ms, Trips: []time.Duration{ms, ms, ms}})
	}
	if holds > 0 {
		m.Holds = sizing.Count([]time.Duration{hold}, []int64{holds}, 0)
	}
	return m
}

func advised(m sizing.Measured, ask sizing.Ask) *result.Advice {
	return &result.Advice{Ask: ask, Sizes: sizing.Size(m, ask)}
}

func asking(hold string) sizing.Ask {
	ask := sizing.Ask{Eps: 1e-6, RTO: time.Minute, Pause: 500 * ms}
	if span, err := bench.ParseSpan(hold); err == nil {
		ask.Hold = &span
	}
	return ask
}

func TestALightLoadOfAdviseIsNoLoadOfATrial(t *testing.T) {
	light := measuredBy(t, "advise", "--rate=500", "--workers=512", "--hold=1ms")
	_, p := trial(t, light, advised(measured(0, 0), asking("5s")))
	require.Zero(t, p.Load.Rate)
	require.Equal(t, bench.Fixed(5*time.Second), p.Load.Hold)
	require.Equal(t, "lost_validity_rate<=5%", p.Objectives[0].String(), "not the 22% that so short a measurement bounds")
	require.GreaterOrEqual(t, p.Load.Duration*time.Duration(p.Load.Workers)/(5*time.Second), time.Duration(1490), "so many locks")
	_, p = trial(t, light, advised(measured(0, 0), asking("")))
	require.Equal(t, "lost_validity_rate<=4.9%", p.Objectives[0].String(), "1 - exp(-3 * 1.001 / 60), rounded up")
	require.Equal(t, bench.Fixed(time.Second), p.Load.Hold, "assumed")
	_, p = trial(t, light, advised(measured(0, 0), asking("1h")))
	require.Equal(t, bench.Hold, p.Load.Op)
	require.Equal(t, 64, p.Load.Workers)
}

func TestATrialHoldsAsTheLoadDidOrForTheAdvisedTime(t *testing.T) {
	load := measuredBy(t, "run", "--rate=200", "--keys=50", "--hold=exp:20ms", "--workers=40")
	line, p := trial(t, load, advised(measured(12_000, 20*ms), asking("")))
	require.Equal(t, load.Hold, p.Load.Hold)
	require.Equal(t, 200.0, p.Load.Rate)
	require.Equal(t, 50, p.Load.Keys)
	require.Contains(t, line, "--slo 'failure_rate<=100%' --slo 'goodput>=0%'", "the load may ask too much of its names")
	require.Len(t, p.Objectives, 3)
	require.Equal(t, bench.Uniform(), p.Load.Dist)
	require.Equal(t, 40, p.Load.Workers)
	require.Equal(t, 24*time.Second, p.Load.Duration, "6 over the share of 0.13%, at the pace of the load")

	line, p = trial(t, load, advised(measured(12_000, 20*ms), asking("3s")))
	require.NotContains(t, line, "--rate", "the workers are too few for that")
	require.NotContains(t, line, "--keys", "nor do they queue for names")
	require.Equal(t, bench.Fixed(3*time.Second), p.Load.Hold)

	process := result.Config{Command: "advise", Target: "given", Masters: []string{"h:1", "h:2", "h:3"}}
	line, p = trial(t, process, advised(measured(1e6, 100*ms), asking("")))
	require.Contains(t, line, "--masters h:1,h:2,h:3")
	require.Equal(t, bench.Fixed(100*ms), p.Load.Hold, "of which the advice says how many are longer")

	ask := asking("exp:10s")
	ask.Eps = 0.5
	_, p = trial(t, process, advised(measured(0, 0), ask))
	require.Less(t, p.Load.Hold.Mean(), 7*time.Second, "the mean is longer than the lease")
}

func TestATrialHasTheOperationsServersAndFencesOfTheMeasurement(t *testing.T) {
	server := filepath.Join(t.TempDir(), "server")
	require.NoError(t, os.WriteFile(server, nil, 0o700))
	for _, op := range []string{"read-write:80", "many:5", "all:2", "permit:3", "try", "mix:acquire-release=9,try=1"} {
		load := measuredBy(t, "run", "--op="+op, "--server="+server, "--fencing", "--keys=90", "--hold=20ms")
		for _, hold := range []string{"", "3s"} {
			m := measured(12_000, 20*ms)
			m.Fencing = true
			_, p := trial(t, load, advised(m, asking(hold)))
			require.Equal(t, load.Op, p.Load.Op)
			require.Equal(t, []string{server}, p.Masters.Programs)
			require.True(t, p.Engine.Fencing)
		}
	}
	m := measured(0, 0)
	m.Fencing = true
	_, p := trial(t, measuredBy(t, "run", "--op=hold", "--keys=9"), advised(m, asking("1h")))
	require.True(t, p.Engine.Fencing, "renewed")
	_, p = trial(t, measuredBy(t, "run", "--op=hold"), advised(measured(0, 0), asking("1s")))
	require.Equal(t, bench.AcquireRelease, p.Load.Op, "one that holds for a time")
}

func TestATrialHasTheFaultsOfTheWholeMeasurementAlone(t *testing.T) {
	load := measuredBy(t, "run", "--duration=40s", "--fault=delay:2:2ms@31s-32s", "--fault=stop:1@39s-40s", "--fault=delay:3:5ms", "--hold=20ms")
	for _, hold := range []string{"", "3s", "1h"} {
		_, p := trial(t, load, advised(measured(12_000, 20*ms), asking(hold)))
		require.Len(t, p.Faults, 1, "others may be later than its end")
		require.Equal(t, "delay:3:5ms", p.Faults[0].Text)
	}
}

// A run has the engine's default: its locks would be valid for longer than a fast master keeps them.
func TestALargerDriftHasNoTrial(t *testing.T) {
	m := measured(12_000, 20*ms)
	m.Clocks = []bench.Clock{{PPM: 15_000}}
	a := advised(m, asking(""))
	require.Equal(t, 0.015, a.Config.Drift)
	require.Empty(t, plan.Trial(measuredBy(t, "run"), a))
	m.Clocks[0].PPM = 5000
	require.NotEmpty(t, plan.Trial(measuredBy(t, "run"), advised(m, asking(""))))
}

func TestATrialRunsForAsLongAsItsObjectiveTakes(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	between := func(least, most float64) float64 { return least * math.Pow(most/least, rng.Float64()) }
	for range 2000 {
		hold := bench.Exp(time.Duration(1e9 * between(1e-3, 100)))
		if rng.IntN(2) == 0 {
			hold = bench.Lognormal(hold.Mean(), 5*rng.Float64())
		}
		m := measured(int64(between(1000, 1e6)), time.Duration(1e9*between(1e-3, 10)))
		m.Fencing = rng.IntN(2) == 0
		ask := sizing.Ask{Eps: between(1e-9, 0.9), RTO: time.Duration(1e9 * between(0.1, 1e4)), Pause: 500 * ms}
		c := measuredBy(t, "run", "--hold="+hold.String(), "--ttl=8760h", "--max-ttl=8760h", "--keys=100")
		switch rng.IntN(3) {
		case 0:
			ask.Hold = &hold
		case 1:
			c = result.Config{Command: "advise", Target: "given", Masters: c.Masters}
		}
		a := advised(m, ask)
		line, p := trial(t, c, a)
		require.GreaterOrEqual(t, p.Load.Duration, 2*a.Config.TTL, line)
		if a.Config.Renew {
			continue
		}
		perSecond := float64(p.Load.Workers) / (p.Load.Hold.Mean() + 3*a.Trip).Seconds()
		if ask.Hold == nil && c.Hold == p.Load.Hold { // the load of the measurement
			perSecond = float64(a.Hold.N) / a.Watched.Seconds()
		}
		for _, o := range p.Objectives {
			require.GreaterOrEqual(t, perSecond*p.Load.Duration.Seconds(), 1.5*float64(o.Samples()), line)
			if strings.HasPrefix(o.String(), "lost_validity_rate") {
				locks := int64(min(perSecond, 1e6) * p.Load.Duration.Seconds())
				require.True(t, o.Judge(&bench.Result{Totals: bench.Totals{Acquired: locks, LostValidity: 1}}).Pass, "%s: one is lost", line)
			}
		}
	}
}
