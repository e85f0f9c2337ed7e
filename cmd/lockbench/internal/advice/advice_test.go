package advice

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
	"muxlock/internal/quorum"
)

// site is a made-up place of which a result is made.
type site struct {
	masters int
	trip    time.Duration // median round trip
	sigma   float64
	common  time.Duration // mean of a delay that hits a whole row
	stall   time.Duration // mean overshoot of a sleep; 0: not measured
	hold    time.Duration // mean, exponential; 0: not measured
	ppm     float64
	jump    time.Duration
	samples int
	probes  int
	seed    uint64
}

var lan = site{masters: 5, trip: 300 * time.Microsecond, sigma: 0.5, stall: 50 * time.Microsecond, hold: 5 * time.Millisecond, ppm: 12, samples: 20_000, probes: 5000, seed: 1}

// row is one attempt's round trips.
func (s site) row(rng *rand.Rand) []int64 {
	c := float64(s.common) * rng.ExpFloat64()
	row := make([]int64, s.masters)
	for i := range row {
		row[i] = int64(c + float64(s.trip)*math.Exp(s.sigma*rng.NormFloat64()))
	}
	return row
}

// draws of one lock: how long it took, was held, and a holder was stalled.
func (s site) acquire(rng *rand.Rand) float64 {
	law, _ := sizing.NewRows([][]int64{s.row(rng)}).QuorumTime(quorum.Size(s.masters))
	return law.Max()
}

func (s site) result() *bench.Result {
	rng := rand.New(rand.NewPCG(s.seed, 1))
	acquire, release, hold, stall := bench.NewHistogram(), bench.NewHistogram(), bench.NewHistogram(), bench.NewHistogram()
	for range s.samples {
		acquire.Record(int64(s.acquire(rng)), 1)
		release.Record(int64(s.acquire(rng)), 1)
		hold.Record(int64(float64(s.hold)*rng.ExpFloat64()), 1)
		stall.Record(int64(float64(s.stall)*rng.ExpFloat64()), 1)
	}
	r := &bench.Result{Impl: "muxlock", Round: 1, Masters: s.masters, Procs: 1, Valid: bench.Valid{OK: true}}
	r.Totals.Acquired = int64(s.samples)
	r.DurationS = float64(s.samples) * bench.StallPeriod.Seconds()
	r.Latency.Acquire, r.Latency.Release = summary(acquire), summary(release)
	r.Latency.ValidityUsed = summary(acquire)
	if s.hold > 0 {
		r.Latency.Hold = summary(hold)
	}
	if s.stall > 0 {
		r.Client.Stall = summary(stall)
	}
	if s.probes > 0 {
		r.Probe = &bench.Probe{TimeoutNs: int64(time.Second)}
		for range s.probes {
			r.Probe.Rows = append(r.Probe.Rows, s.row(rng))
		}
		for i := range s.masters {
			r.PerMaster = append(r.PerMaster, bench.Master{
				Addr:  fmt.Sprintf("m%d:6379", i),
				Clock: &bench.Clock{PPM: s.ppm, PPMError: 5, JumpNs: int64(s.jump)},
			})
		}
	}
	return r
}

func summary(h *bench.Histogram) *bench.Summary {
	s := h.Summary()
	text, _ := h.MarshalText()
	s.HDR = string(text)
	return s
}

func measure(t testing.TB, r *bench.Result) *Measured {
	t.Helper()
	m, err := Measure("muxlock", bench.RunConfig{Config: bench.Config{TTL: 10 * time.Second}}, []*bench.Result{r})
	require.NoError(t, err)
	return m
}

var defaults = Ask{Eps: 1e-6, RTO: 30 * time.Second, Budgets: DefaultBudgets, MasterUp: DefaultMasterUp, ZoneUp: DefaultZoneUp}

func warned(a *Advice, part string) bool {
	return strings.Contains(strings.Join(a.Warnings, "\n"), part)
}

func TestNoPausesToSurviveAreNoneAndNotTheDefault(t *testing.T) {
	ask := defaults
	ask.Budgets = Budgets{}
	a := Make(measure(t, lan.result()), ask)
	require.Zero(t, a.Ask.Budgets)
	require.Less(t, a.TTL.Min, Make(measure(t, lan.result()), defaults).TTL.Min)
}

func chanceOf(t *testing.T, a *Advice, formula string) Chance {
	t.Helper()
	for _, c := range a.Expected {
		if c.Formula == formula {
			return c
		}
	}
	require.Fail(t, "no "+formula)
	return Chance{}
}

func TestAdviceOfAQuietNetworkHasNothingToWarnOf(t *testing.T) {
	a := Make(measure(t, lan.result()), defaults)
	require.Empty(t, a.Warnings)
	require.False(t, a.TTL.Empty)
	require.Less(t, a.TTL.Tight, a.TTL.Min)
	require.Less(t, a.TTL.Min, int64(time.Second))
	require.Empty(t, a.Missed)
	require.Equal(t, int64(29*time.Second), a.TTL.Max, "rounded as it is set")
	require.EqualValues(t, a.TTL.Max, a.Config.MaxTTL, "what is printed is what the engine takes")
	require.Greater(t, int64(a.Config.TTL), a.TTL.Min)
	require.Less(t, int64(a.Config.TTL), a.TTL.Max)
	require.InEpsilon(t, math.Sqrt(float64(a.TTL.Min)*float64(a.TTL.Max)), int64(a.Config.TTL), 0.1) // two digits, rounded up
	require.Equal(t, 0.01, a.Config.Drift)
	require.NotEmpty(t, a.TTL.Extrapolated, "nobody has seen 1e-6 in 20000 samples")
	require.Equal(t, Caveat, a.Caveat)
	b, err := json.Marshal(a)
	require.NoError(t, err)
	require.NotContains(t, string(b), "null")
	require.NotContains(t, string(b), "Inf")
}

// The promise: with the lease that is advised, and already with the least one, validity is
// lost no more often than predicted; below the interval more often than is accepted.
func TestWhatIsAdvisedLosesNoMoreThanPredicted(t *testing.T) {
	ask := defaults
	ask.Eps = 1e-3
	a := Make(measure(t, lan.result()), ask)
	rng := rand.New(rand.NewPCG(99, 1))
	lost := func(ttl float64) float64 {
		const n = 100_000
		k := 0
		for range n {
			hold, pause := float64(lan.hold)*rng.ExpFloat64(), 0.0
			for at := 0.0; at < max(hold, 1e7); at += 1e7 {
				pause = max(pause, float64(lan.stall)*rng.ExpFloat64())
			}
			if lan.acquire(rng)+hold+pause > ttl*(1-a.Config.Drift)-2e6 {
				k++
			}
		}
		return float64(k) / n
	}
	require.LessOrEqual(t, lost(float64(a.TTL.Min)), ask.Eps)
	require.LessOrEqual(t, lost(float64(a.TTL.Tight)), ask.Eps*1.5)
	require.Greater(t, lost(float64(a.TTL.Tight)*0.7), 3*ask.Eps)
	require.LessOrEqual(t, lost(float64(a.Config.TTL)), chanceOf(t, a, "F18").Hi)
}

// accepted reports whether the engine takes the configuration; no master is there.
func accepted(c Config) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e, err := engine.New(ctx, engine.Config{
		Masters: []string{"127.0.0.1:1"}, TTL: c.TTL, MaxTTL: c.MaxTTL, MasterTimeout: c.MasterTimeout,
		Drift: c.Drift, RetryHeld: c.RetryHeld, RetrySplit: c.RetrySplit,
	})
	if err == nil {
		return e.Close()
	}
	return err
}

func TestTheEngineTakesWhatIsAdvised(t *testing.T) {
	require.ErrorIs(t, accepted(Config{TTL: time.Second, MaxTTL: time.Second, MasterTimeout: time.Second, Drift: 0.01}), engine.ErrInvalid, "the test can fail")
	rng := rand.New(rand.NewPCG(7, 7))
	scale := func(least, most time.Duration) time.Duration {
		return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), rng.Float64()))
	}
	tries := 30
	if testing.Short() {
		tries = 6
	}
	for i := range tries {
		s := site{
			masters: 1 + rng.IntN(7), trip: scale(20*time.Microsecond, 300*time.Millisecond), sigma: 0.1 + 1.5*rng.Float64(),
			common: scale(1, 20*time.Millisecond), stall: scale(time.Microsecond, 50*time.Millisecond), hold: scale(time.Microsecond, 20*time.Second),
			ppm: 100 * rng.NormFloat64(), jump: scale(1, 50*time.Millisecond), samples: 50 + rng.IntN(3000), probes: rng.IntN(2) * 300, seed: uint64(i),
		}
		ask := Ask{Eps: math.Pow(10, -1-8*rng.Float64()), RTO: scale(10*time.Millisecond, time.Hour), Waiters: rng.IntN(200), Rate: float64(rng.IntN(2)) * 10, Budgets: DefaultBudgets}
		a := Make(measure(t, s.result()), ask)
		require.NotErrorIs(t, accepted(a.Config), engine.ErrInvalid, "%+v %+v %+v", s, ask, a.Config)
		require.LessOrEqual(t, a.Config.RetrySplit, a.Config.RetryHeld)
		require.Equal(t, a.Config.TTL, a.Config.TTL.Truncate(time.Millisecond))
		if !a.TTL.Empty {
			require.GreaterOrEqual(t, int64(a.Config.TTL), a.TTL.Min/1000000*1000000, "%+v", a.TTL)
			require.LessOrEqual(t, int64(a.Config.TTL), a.TTL.Max)
		}
		for _, c := range a.Expected {
			require.True(t, c.P >= 0 && c.P <= 1 && c.Lo <= c.Hi+1e-15 && c.Hi <= 1, "%+v", c)
		}
		_, err := json.Marshal(a)
		require.NoError(t, err)
	}
}

func TestSnippetIsGoThatTheEngineUnderstands(t *testing.T) {
	a := Make(measure(t, lan.result()), defaults)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "paste.go", `package paste
import "time"
type Config struct { Masters []string; TTL, MaxTTL, MasterTimeout, RetryHeld, RetrySplit time.Duration; Drift float64 }
var masters []string
var pasted = `+strings.ReplaceAll(a.Snippet, "engine.", "")+"\n", 0)
	require.NoError(t, err, a.Snippet)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	_, err = (&types.Config{Importer: onlyTime{}}).Check("paste", fset, []*ast.File{file}, info)
	require.NoError(t, err, a.Snippet)
	require.Contains(t, a.Snippet, fmt.Sprintf("%v", a.Config.Drift))
	values := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok && info.Types[kv.Value].Value != nil {
			values[kv.Key.(*ast.Ident).Name] = info.Types[kv.Value].Value.ExactString()
		}
		return true
	})
	c := a.Config
	for name, d := range map[string]time.Duration{"TTL": c.TTL, "MaxTTL": c.MaxTTL, "MasterTimeout": c.MasterTimeout, "RetryHeld": c.RetryHeld, "RetrySplit": c.RetrySplit} {
		require.Equal(t, fmt.Sprint(int64(d)), values[name], name)
		field, ok := reflect.TypeFor[engine.Config]().FieldByName(name)
		require.True(t, ok && field.Type == reflect.TypeFor[time.Duration](), name)
	}
}

// onlyTime imports a package time with what the snippet uses of it.
type onlyTime struct{}

func (onlyTime) Import(path string) (*types.Package, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "time.go", `package time
type Duration int64
const (
	Nanosecond Duration = 1
	Microsecond = 1000 * Nanosecond
	Millisecond = 1000 * Microsecond
	Second = 1000 * Millisecond
	Minute = 60 * Second
	Hour = 60 * Minute
)`, 0)
	if err != nil {
		return nil, err
	}
	return (&types.Config{}).Check(path, fset, []*ast.File{file}, nil)
}

func TestHoldsThatNoLeaseOutlastsAreRenewed(t *testing.T) {
	ask := defaults
	ask.RTO = 5 * time.Second
	ask.Hold, ask.HoldText = sizing.Fixed(float64(20*time.Second)), "20s"
	a := Make(measure(t, lan.result()), ask)
	require.True(t, a.TTL.Empty)
	require.True(t, a.Config.Renew)
	require.True(t, warned(a, "KeepAlive"))
	require.LessOrEqual(t, int64(a.Config.TTL), a.TTL.Max)
	require.Less(t, chanceOf(t, a, "F7").P, 1e-3)

	ask.RTO = 20 * time.Millisecond
	a = Make(measure(t, lan.result()), ask)
	require.Contains(t, a.Missed, "not even a renewed lease")
}

// A pause of eps leaves such a lease no room at all; but it comes as rarely as eps allows.
func TestARenewedHourIsNotLostToAPauseThatNeverComes(t *testing.T) {
	s := lan
	s.stall, s.samples = 50*time.Millisecond, 2000
	r := s.result()
	hour := 1.0
	for _, rto := range []time.Duration{5 * time.Second, 30 * time.Second, 5 * time.Minute, time.Hour} {
		for _, eps := range []float64{1e-6, 1e-9} {
			ask := defaults
			ask.RTO, ask.Eps = rto, eps
			require.Less(t, chanceOf(t, Make(measure(t, r), ask), "F7").P, 0.5, "%s %g", rto, eps)
		}
		ask := defaults
		ask.RTO = rto
		p := chanceOf(t, Make(measure(t, r), ask), "F7").P
		require.LessOrEqual(t, p, hour, rto)
		hour = p
	}
}

// A hold of a minute under an RTO of 5 s was advised a TTL of 190 s.
func TestALongHoldThatIsRenewedStaysWithinTheRTO(t *testing.T) {
	s, ask := lan, defaults
	s.stall, s.samples = 2*time.Millisecond, 3000
	ask.RTO, ask.Hold, ask.HoldText = 5*time.Second, sizing.Fixed(float64(time.Minute)), "1m"
	a := Make(measure(t, s.result()), ask)
	require.True(t, a.Config.Renew)
	require.Empty(t, a.Missed)
	require.LessOrEqual(t, int64(a.Config.TTL), a.TTL.Max)
	require.Less(t, a.Outages[0].Outage, a.Outages[len(a.Outages)-1].Outage)
}

// All masters stopped for 2.5 s in a minute: 3.5e-4 an hour was predicted for a TTL of 3 s.
func TestOutagesThatLastEndRenewedLeases(t *testing.T) {
	r := lan.result()
	r.DurationS = 60
	r.Probe.AtNs = nil
	for i, row := range r.Probe.Rows { // one in 12 ms
		if i >= 1000 && i < 1208 {
			for j := range row {
				row[j] = -1
			}
		}
	}
	ask := defaults
	ask.RTO, ask.Hold, ask.HoldText = 3200*time.Millisecond, sizing.Fixed(float64(time.Minute)), "1m"
	a := Make(measure(t, r), ask)
	require.InDelta(t, 1-math.Exp(-1), chanceOf(t, a, "F7").P, 0.05, "one a minute, for a minute")
	require.True(t, warned(a, "such an outage costs locks"), "%q", a.Warnings)
	ask.RTO = 30 * time.Second
	a = Make(measure(t, r), ask)
	require.Less(t, chanceOf(t, a, "F7").P, 1e-3)
	require.GreaterOrEqual(t, a.Outages[len(a.Outages)-1].Outage, int64(2500*time.Millisecond))
}

func TestARenewedLeaseThatLosesTooOftenIsWarnedOf(t *testing.T) {
	ask, r := defaults, lan.result()
	ask.RTO = time.Second
	ask.Hold, ask.HoldText = sizing.Fixed(float64(20*time.Second)), "20s"
	for i := range r.Probe.Rows {
		if i%5 < 2 {
			copy(r.Probe.Rows[i], []int64{-1, -1, -1})
		}
	}
	a := Make(measure(t, r), ask)
	require.True(t, a.Config.Renew)
	require.InDelta(t, 0.4, chanceOf(t, a, "F4").P, 0.01)
	require.Greater(t, chanceOf(t, a, "F18").P, 10*ask.Eps)
	require.True(t, warned(a, "far more than"), "%q", a.Warnings)
	require.True(t, warned(a, "0.4 of the attempts"), "%q", a.Warnings)
}

func TestWarningsNameWhatIsWrong(t *testing.T) {
	for part, change := range map[string]func(s *site, r *bench.Result){
		"Fix the client host": func(s *site, r *bench.Result) { s.common = 2 * time.Millisecond; *r = *s.result() },
		"clock jumped":        func(s *site, r *bench.Result) { s.jump = 40 * time.Millisecond; *r = *s.result() },
		"differs by 9005 ppm": func(s *site, r *bench.Result) {
			s.ppm = 9000
			s.masters = 3
			*r = *s.result()
			r.PerMaster[0].Clock.PPM = -3000
		},
		"share one host":             func(_ *site, r *bench.Result) { rename(r, "127.0.0.1:%d") },
		"only 100 acquires":          func(s *site, r *bench.Result) { s.samples = 100; *r = *s.result() },
		"only 100 joint":             func(s *site, r *bench.Result) { s.probes = 100; *r = *s.result() },
		"not probed":                 func(s *site, r *bench.Result) { s.probes = 0; *r = *s.result() },
		"clocks of the masters were": func(_ *site, r *bench.Result) { r.PerMaster = nil },
		"pauses of the holder":       func(s *site, r *bench.Result) { s.stall = 0; *r = *s.result() },
		"neither given nor measured": func(s *site, r *bench.Result) { s.hold = 0; *r = *s.result() },
		"percentiles alone":          func(_ *site, r *bench.Result) { r.Latency.ValidityUsed.HDR = "" },
		"what validity was used up":  func(_ *site, r *bench.Result) { r.Latency.ValidityUsed = nil },
		"measurement was not valid":  func(_ *site, r *bench.Result) { r.Invalidate("it rained") },
		"m2:6379 did not answer 7 probes and was down for 2.5%": func(_ *site, r *bench.Result) {
			r.PerMaster[2].Lost, r.PerMaster[2].Down = 7, 0.025
		},
		"2 masters survive no failure": func(s *site, r *bench.Result) { s.masters = 2; *r = *s.result() },
		"embedded masters":             func(_ *site, r *bench.Result) { r.Invalidate("embedded masters: the speed means nothing") },
		"holders overlap":              func(_ *site, r *bench.Result) { r.Safety.Overlaps = 2 },
		"a fence that did not grow":    func(_ *site, r *bench.Result) { r.Safety.FenceViolations = 2 },
		"survive no more failures":     func(s *site, r *bench.Result) { s.masters = 4; *r = *s.result() },
		"one master: its failure":      func(s *site, r *bench.Result) { s.masters = 1; *r = *s.result() },
		"more than one name can do":    nil,
		"no TTL outlasts such holds":   nil,
		"round trips alone, without ":  func(_ *site, r *bench.Result) { r.Latency.Acquire.Count, r.Latency.ValidityUsed = 0, nil },
	} {
		s, ask := lan, defaults
		r := s.result()
		switch {
		case change != nil:
			change(&s, r)
		case part == "more than one name can do":
			ask.Rate = 1000
		default:
			ask.RTO = 10 * time.Millisecond
		}
		a := Make(measure(t, r), ask)
		require.True(t, warned(a, part), "%s: %q", part, a.Warnings)
	}
}

func rename(r *bench.Result, format string) {
	for i := range r.PerMaster {
		r.PerMaster[i].Addr = fmt.Sprintf(format, 7000+i)
	}
}

// slowed is a place where the first masters take longer by that, in that part of the rows.
func slowed(masters int, by time.Duration, every int) *bench.Result {
	r := lan.result()
	for i, row := range r.Probe.Rows {
		for j := range masters {
			if i%every == 0 {
				row[j] += int64(by)
			}
		}
	}
	return r
}

func settingOf(t *testing.T, a *Advice, name string) Setting {
	t.Helper()
	i := slices.IndexFunc(a.Settings, func(s Setting) bool { return s.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return a.Settings[i]
}

// A fork of 0.8 s at one of five made MasterTimeout 1.6 s.
func TestOneSlowMasterDoesNotMakeTheTimeoutLonger(t *testing.T) {
	a := Make(measure(t, slowed(1, 800*time.Millisecond, 50)), defaults)
	require.Equal(t, 50*time.Millisecond, a.Config.MasterTimeout)
	slow := settingOf(t, a, "slow master")
	require.Contains(t, slow.Why, "without master 1, which is later than MasterTimeout in 0.02 of the probes")
	require.NotErrorIs(t, accepted(a.Config), engine.ErrInvalid)
}

func TestAQuorumThatIsSlowMakesTheTimeoutDecide(t *testing.T) {
	a := Make(measure(t, slowed(3, 400*time.Millisecond, 50)), defaults)
	require.Greater(t, a.Config.MasterTimeout, 800*time.Millisecond)
	require.Greater(t, a.TTL.Min, int64(a.Config.MasterTimeout))
	require.NotErrorIs(t, accepted(a.Config), engine.ErrInvalid)
}

func TestALongHoldMeetsMorePauses(t *testing.T) {
	slow := lan
	slow.stall = 5 * time.Millisecond
	least := func(hold time.Duration) float64 {
		ask := defaults
		ask.Eps, ask.Hold = 0.05, sizing.Fixed(float64(hold))
		return 0.99 * float64(Make(measure(t, slow.result()), ask).TTL.Min)
	}
	// From 10 pauses of 5 ms to 110: the longest is ln(11) times that more.
	require.Greater(t, least(1100*time.Millisecond)-least(100*time.Millisecond), float64(time.Second+10*time.Millisecond))
}

func TestAJumpOfAClockGoesIntoDrift(t *testing.T) {
	s := lan
	s.jump = 40 * time.Millisecond
	a := Make(measure(t, s.result()), defaults)
	require.GreaterOrEqual(t, a.Config.Drift*float64(a.Config.TTL), 0.01*float64(a.Config.TTL)+float64(s.jump))
	require.GreaterOrEqual(t, a.TTL.Min, Make(measure(t, lan.result()), defaults).TTL.Min+int64(s.jump))
}

func TestSensitivityKnowsWhatHurts(t *testing.T) {
	ask, slow := defaults, lan
	ask.Eps, slow.stall = 0.01, 5*time.Millisecond
	slow.trip = 20 * time.Millisecond
	a := Make(measure(t, slow.result()), ask)
	by := map[string]Change{}
	for _, c := range a.Sensitivity {
		by[c.What] = c
	}
	require.Positive(t, by["round trips x2"].ByNs)
	require.Positive(t, by["stalls x2"].ByNs)
	require.Positive(t, by["one master down"].ByNs)
	require.Positive(t, by["3 masters"].ByNs)
	require.Negative(t, by["7 masters"].ByNs)
	s := slow
	s.masters = 4 // the quorum is 3 of 4, also when one is down
	a = Make(measure(t, s.result()), ask)
	require.Equal(t, "one master down", a.Sensitivity[3].What)
	require.Positive(t, a.Sensitivity[3].ByNs)
	s.masters = 2
	a = Make(measure(t, s.result()), defaults)
	require.Equal(t, "no quorum", a.Sensitivity[3].Remark, "%+v", a.Sensitivity)
}

func TestSeveralRoundsAreOneMeasurement(t *testing.T) {
	one, two := lan.result(), lan.result()
	other := lan.result()
	other.Impl = "redislock"
	m, err := Measure("muxlock", bench.RunConfig{}, []*bench.Result{one, other, two})
	require.NoError(t, err)
	require.EqualValues(t, 40_000, m.Acquire.N())
	require.Len(t, m.Rows, 10_000)
	require.InDelta(t, one.Latency.Acquire.P["99"], m.Acquire.UpperQuantile(0.01), float64(one.Latency.Acquire.P["99"])/500)
}

func TestTooLittleIsSaid(t *testing.T) {
	_, err := Measure("muxlock", bench.RunConfig{}, nil)
	require.ErrorIs(t, err, ErrTooLittle)
	empty := &bench.Result{Impl: "muxlock", Masters: 3}
	_, err = Measure("muxlock", bench.RunConfig{}, []*bench.Result{empty})
	require.ErrorIs(t, err, ErrTooLittle)
	empty.Masters = 0
	_, err = Measure("muxlock", bench.RunConfig{}, []*bench.Result{empty})
	require.ErrorContains(t, err, "how many masters")
}

func TestNothingFollowsFromATimeInWhichNothingWasAcquired(t *testing.T) {
	r := lan.result() // the masters were probed all the same
	r.Totals.Acquired = 0
	r.Latency.Acquire = &bench.Summary{}
	_, err := Measure("muxlock", bench.RunConfig{}, []*bench.Result{r})
	require.EqualError(t, err, "nothing to size from: nothing was acquired")

	r = lan.result()
	r.Series = []bench.Point{{TS: 1}, {TS: 2}, {TS: 3, Acquired: 1000}}
	_, err = Measure("muxlock", bench.RunConfig{}, []*bench.Result{r})
	require.EqualError(t, err, "nothing to size from: nothing was acquired from 0 s to 2 s of round 1")
}

// Without histograms the percentiles must do, on the safe side.
func TestPercentilesAloneMakeNoTimeShorter(t *testing.T) {
	r := lan.result()
	with := measure(t, r)
	r.Latency.ValidityUsed.HDR = ""
	without := measure(t, r)
	require.Equal(t, with.Acquire.N(), without.Acquire.N())
	for _, p := range []float64{0.7, 0.5, 0.3, 0.1, 0.05, 0.01, 0.001} {
		require.GreaterOrEqual(t, without.Acquire.UpperQuantile(p), with.Acquire.UpperQuantile(p), "p %v", p)
	}
}

func TestWaitsAndDaysAreToldForARate(t *testing.T) {
	ask := defaults
	ask.Rate = 50
	a := Make(measure(t, lan.result()), ask)
	formulae := ""
	for _, s := range a.Settings {
		formulae += s.Formula + " "
	}
	require.Contains(t, formulae, "F11")
	last := a.Expected[len(a.Expected)-1]
	require.Contains(t, last.Name, "a day at 50/s")
	each := a.Expected[len(a.Expected)-2].P
	require.InEpsilon(t, a.Expected[0].P+a.Expected[1].P, each, 0.01, "both ways of losing it")
	require.InEpsilon(t, each*50*86400, last.P, 0.01)
}

func TestTheRunItselfIsHeldAgainstTheFormulae(t *testing.T) {
	r := lan.result()
	run := func(lost int64) *Advice {
		r.Totals.LostValidity = lost
		m, err := Measure("muxlock", bench.RunConfig{Config: bench.Config{TTL: 18 * time.Millisecond}}, []*bench.Result{r})
		require.NoError(t, err)
		return Make(m, defaults)
	}
	// Validity is 15.8 ms, of which the acquire takes 0.3: exp(-15.5/5).
	c := run(900).Check
	require.InEpsilon(t, math.Exp(-15.5/5), c.Predicted, 0.15)
	require.True(t, c.Lo < 0.045 && c.Hi > 0.045, "%+v", c)
	require.False(t, warned(run(900), "something else"))
	require.True(t, warned(run(3000), "something else"))
	require.Zero(t, run(0).Check.Lo)

	m := measure(t, r)
	m.Op = bench.Extend
	require.Nil(t, Make(m, defaults).Check)
}

func TestHoldLawIsThatOfItsText(t *testing.T) {
	law, err := HoldLaw(bench.Fixed(time.Second))
	require.NoError(t, err)
	require.Equal(t, 1e9, law.UpperQuantile(1e-9))
	law, err = HoldLaw(bench.Exp(time.Second))
	require.NoError(t, err)
	require.InEpsilon(t, math.Exp(-3), law.Survival(3e9), 0.06)
	require.InEpsilon(t, 1e9, law.Mean(), 0.05)
	_, err = HoldLaw(bench.Exp(0))
	require.Error(t, err)
}

// aDistantOne is a quorum of near masters that waits for far ones when one near is down.
func aDistantOne(rto time.Duration) *Advice {
	s := lan
	s.masters = 3
	r := s.result()
	for _, row := range r.Probe.Rows {
		row[2] += int64(400 * time.Millisecond)
	}
	ask := defaults
	ask.Eps, ask.RTO, ask.Hold, ask.HoldText = 1e-2, rto, sizing.Fixed(6e8), "600ms"
	m, err := Measure("muxlock", bench.RunConfig{Config: bench.Config{TTL: 10 * time.Second}}, []*bench.Result{r})
	if err != nil {
		panic(err)
	}
	return Make(m, ask)
}

func TestTheTTLCoversOneMasterDownOrSaysThatItCannot(t *testing.T) {
	needs := func(a *Advice) int64 {
		i := slices.IndexFunc(a.Sensitivity, func(c Change) bool { return c.What == "one master down" })
		return a.Sensitivity[i].MinNs
	}
	long := aDistantOne(30 * time.Second)
	need := needs(long)
	require.Greater(t, need, long.TTL.Min)
	// The second leaves room for it, but the geometric mean stays below.
	for _, rto := range []time.Duration{30 * time.Second, time.Duration(need) * 3 / 2} {
		a := aDistantOne(rto)
		require.GreaterOrEqual(t, int64(a.Config.TTL), needs(a), rto)
		require.False(t, warned(a, "with one master down"), "%q", a.Warnings)
	}
	a := aDistantOne(time.Duration(long.TTL.Min+need)/2 + long.Config.RetryHeld*3/2 + 10*time.Millisecond)
	require.False(t, a.TTL.Empty)
	require.True(t, warned(a, "with one master down"), "%q", a.Warnings)
}

func TestThreeHundredRowsAreEnoughForAP99(t *testing.T) {
	s := lan
	for probes, want := range map[int]bool{299: true, 400: false} {
		s.probes = probes
		require.Equal(t, want, warned(Make(measure(t, s.result()), defaults), "joint round trips"), probes)
	}
}

func TestTheWordsAndTimesArePlain(t *testing.T) {
	ask := defaults
	ask.RTO = 70 * time.Second
	a := Make(measure(t, lan.result()), ask)
	require.Regexp(t, `^The samples alone show that less than [0-9.]+% lose it \(95 %\); the rest is a fitted curve\.$`, a.InWords())
	text, err := json.Marshal(a)
	require.NoError(t, err)
	require.NotContains(t, string(text), "µ")
	require.NotRegexp(t, `\d+m\d+(\.\d+)?s`, string(text), "minutes and seconds")
	require.Contains(t, string(text), "70.0s")
}

func TestWhatToTryIsTheMeasuredMastersUnderWhatIsAdvised(t *testing.T) {
	m := measure(t, lan.result())
	m.Target, m.Workers = []string{"--local", "5", "--fault", "delay:1:exp(5ms)"}, 16
	ask := defaults
	ask.Hold, ask.HoldText, ask.Rate = sizing.Fixed(2e6), "2ms", 10
	a := Make(m, ask)
	require.Equal(t, fmt.Sprintf("lockbench run --local 5 --fault 'delay:1:exp(5ms)' --workers 16 --ttl %s --max-ttl %s --master-timeout %s --drift %v --retry-held %s --retry-split %s --hold 2ms --rate 10 --keys 1 --duration 110s",
		flagTime(a.Config.TTL), flagTime(a.Config.MaxTTL), a.Config.MasterTimeout, a.Config.Drift, flagTime(a.Config.RetryHeld), flagTime(a.Config.RetrySplit)), a.Try)
	require.Equal(t, []string{"69s", "2.7s", "420us", "3ms"}, []string{flagTime(69 * time.Second), flagTime(2700 * time.Millisecond), flagTime(420 * time.Microsecond), flagTime(3 * time.Millisecond)})
	require.Equal(t, "--workers=16", a.Trial[0])
	require.Len(t, a.Trial, 11)
	require.NotContains(t, a.Try+a.Snippet, "encing")
	m.Fencing = true
	fenced := Make(m, ask)
	require.Contains(t, fenced.Try, " --fencing --hold 2ms")
	require.Contains(t, fenced.Snippet, "Fencing:       true,")
	m.Fencing = false

	m.Rate, ask.Rate = 500, 0
	require.Contains(t, Make(m, ask).Try, " --workers 16 --rate 500 --ttl ", "the load that was measured")
	ask.Rate = 1
	require.Contains(t, Make(m, ask).Try, "--duration 120s")
	ask.Rate = 10
	m.Load = []string{"--impl=muxlock", "--workers=9", "--keys=77", "--dist=zipf:1", "--rate=500", "--hold=1s", "--ttl=9s", "--duration=1m0s"}
	a = Make(m, ask)
	require.Contains(t, a.Try, " --workers 9 --keys 77 --dist zipf:1 --rate 500 --ttl ", "the user's own load")
	require.Contains(t, a.Try, " --hold 2ms --duration 10s")
	ask.Hold, ask.HoldText, ask.RTO = sizing.Fixed(20e9), "20s", 5*time.Second
	a = Make(m, ask)
	require.Contains(t, a.Try, fmt.Sprintf("--op hold --duration %s", flagTime(max(10*time.Second, 2*a.Config.TTL).Round(time.Second))))
	require.NotContains(t, a.Try, "--rate")
	require.Equal(t, `'it'\''s'`, Quoted("it's"))
}

func TestATrialIsHeldAgainstWhatWasPredicted(t *testing.T) {
	a := &Advice{
		Ask: Ask{Eps: 1e-6}, Inputs: []Input{{Name: "acquire", P50: 1000, P99: 3000}, {Name: "hold", P50: 7}},
		Expected: []Chance{{Formula: "F6", P: 0.5}, {Formula: lateQuorum, P: 1e-9}, {Formula: rollUp, P: 2e-6}, {Formula: rollUp, P: 0.9}},
	}
	require.Equal(t, []Prediction{
		{"late_quorum_rate", 1e-9, 1e-6}, {"lost_validity_rate", 2e-6, 4e-6}, {"acquire.p99", 3000, 6000},
	}, a.Predictions("acquire", "99"))
	a.Config.Renew = true
	require.Equal(t, []Prediction{{"uncontended.p50", 1000, 2000}}, a.Predictions("uncontended", "50"))
}
