package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// opening is a target that locks nothing; it counts and can fail to close.
type opening struct {
	noop
	opened, closed int
	closeErr       error
}

func (o *opening) target(name string) Target {
	return Target{Name: name, Masters: 5, Open: func(context.Context) (Runner, error) {
		o.opened++
		return LockRunner{name, o}, nil
	}}
}

func (o *opening) Close() error { o.closed++; return o.closeErr }

// load is a Runner that is no Locker.
type load func(context.Context, Config) (*Result, error)

func (l load) Run(ctx context.Context, cfg Config) (*Result, error) { return l(ctx, cfg) }
func (load) Close() error                                           { return nil }

func (l load) target(name string) Target {
	return Target{Name: name, Masters: 1, Open: func(context.Context) (Runner, error) { return l, nil }}
}

func short() Config { return Config{Workers: 1, Duration: 5 * time.Millisecond, TTL: time.Second} }

func TestCompareInterleavesRoundsWithOneSeedEach(t *testing.T) {
	var a, c opening
	own := load(func(_ context.Context, cfg Config) (*Result, error) { return &Result{Impl: "b", Seed: cfg.Seed}, nil })
	cfg := short()
	cfg.Seed = 9
	var shown []string
	cfg.Progress = func(p Progress) {
		if p.Result != nil {
			require.Equal(t, p.Round, p.Result.Round)
			shown = append(shown, fmt.Sprint(p.Impl, p.Round))
		}
	}
	results, err := Compare(t.Context(), []Target{a.target("a"), own.target("b"), c.target("c")}, cfg, 3)
	require.NoError(t, err)
	var order []string
	for _, r := range results {
		order = append(order, fmt.Sprint(r.Impl, r.Round, " masters ", r.Masters, " seed ", r.Seed))
	}
	require.Equal(t, []string{
		"a1 masters 5 seed 9", "b1 masters 1 seed 9", "c1 masters 5 seed 9",
		"c2 masters 5 seed 10", "b2 masters 1 seed 10", "a2 masters 5 seed 10",
		"a3 masters 5 seed 11", "b3 masters 1 seed 11", "c3 masters 5 seed 11",
	}, order)
	require.Equal(t, []string{"a1", "c1", "c2", "a2", "a3", "c3"}, shown)
	require.Equal(t, 3, a.opened, "anew for each run")
	require.Equal(t, 3, a.closed)
}

func TestCompareRunsATargetUnderAConfigOfItsOwn(t *testing.T) {
	own := load(func(_ context.Context, cfg Config) (*Result, error) {
		r := &Result{Impl: "b", Workers: cfg.Workers, Seed: cfg.Seed}
		cfg.Progress(Progress{Result: r})
		return r, nil
	})
	var shown []string
	targets := []Target{own.target("b")}
	for _, workers := range []int{3, 4} {
		cfg := short()
		cfg.Workers, cfg.Seed = workers, 7
		cfg.Progress = func(p Progress) { shown = append(shown, p.Setting["workers"]) }
		t := own.target("b")
		t.Config, t.Setting = &cfg, map[string]string{"workers": strconv.Itoa(workers)}
		targets = append(targets, t)
	}
	cfg := short()
	cfg.Progress = func(Progress) {}
	results, err := Compare(t.Context(), targets, cfg, 2)
	require.NoError(t, err)
	var order []string
	for _, r := range results {
		order = append(order, fmt.Sprint(r.Setting["workers"], " ", r.Workers, " ", r.Seed))
	}
	require.Equal(t, []string{" 1 0", "3 3 7", "4 4 7", "4 4 8", "3 3 8", " 1 1"}, order)
	require.Equal(t, []string{"3", "4", "4", "3"}, shown)

	targets[2].Setting = targets[1].Setting
	_, err = Compare(t.Context(), targets, cfg, 1)
	require.ErrorContains(t, err, "twice")
	targets[2].Setting, targets[2].Config = nil, &Config{}
	_, err = Compare(t.Context(), targets, cfg, 1)
	require.ErrorIs(t, err, ErrConfig)
}

func TestCompareKeepsResultsWhenATargetFails(t *testing.T) {
	cause := errors.New("no such server")
	unopened := Target{Name: "bad", Open: func(context.Context) (Runner, error) { return nil, cause }}
	broken := load(func(context.Context, Config) (*Result, error) { return nil, cause })
	for _, bad := range []Target{unopened, broken.target("bad")} {
		var good opening
		results, err := Compare(t.Context(), []Target{good.target("good"), bad}, short(), 2)
		require.ErrorIs(t, err, cause)
		require.ErrorContains(t, err, "bad: ")
		require.Len(t, results, 1)
		require.Equal(t, 1, good.closed)
	}
}

func TestCompareReportsATargetThatDoesNotClose(t *testing.T) {
	a := opening{closeErr: errors.New("stuck")}
	results, err := Compare(t.Context(), []Target{a.target("a")}, short(), 2)
	require.ErrorIs(t, err, a.closeErr)
	require.Len(t, results, 1)
}

// interrupting ends the run once it is under way.
type interrupting struct {
	*opening
	cancel context.CancelFunc
}

func (l interrupting) Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	l.cancel()
	return l.opening.Acquire(ctx, name, ttl)
}

func TestCompareStopsAtAnInterrupt(t *testing.T) {
	var a, b opening
	ctx, cancel := context.WithCancel(t.Context())
	cfg := short()
	cfg.Duration = time.Minute
	first := a.target("a")
	first.Open = func(context.Context) (Runner, error) {
		a.opened++
		return LockRunner{"a", interrupting{&a, cancel}}, nil
	}
	results, err := Compare(ctx, []Target{first, b.target("b")}, cfg, 2)
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.True(t, results[0].Interrupted())
	require.Equal(t, 1, a.closed)
	require.Zero(t, b.opened)
}

func TestAnErrorThatFollowsFromTheInterruptIsNone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := load(func(ctx context.Context, _ Config) (*Result, error) {
		cancel()
		return &Result{}, ctx.Err()
	})
	results, err := Compare(ctx, []Target{l.target("a")}, short(), 2)
	require.NoError(t, err)
	require.Len(t, results, 1)
}

func TestCompareRefusesWhatItCannotRun(t *testing.T) {
	a := Target{Name: "a"}
	for _, c := range []struct {
		targets []Target
		rounds  int
		cfg     Config
		names   string
	}{
		{nil, 1, good(), "--impl"},
		{[]Target{a, a}, 1, good(), "--impl"},
		{[]Target{a}, 0, good(), "--rounds"},
		{[]Target{a}, 1, Config{}, "--workers"},
	} {
		_, err := Compare(t.Context(), c.targets, c.cfg, c.rounds)
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, c.names)
	}
}

func result(impl string, round int, throughput float64, p99 int64) *Result {
	return &Result{
		Impl: impl, Round: round, ThroughputPerS: throughput,
		Latency: Latencies{Cycle: &Summary{Count: 1, P: map[string]int64{"50": p99 / 2, "99": p99}}},
		Client:  Client{CPUNsPerOp: 100},
		Valid:   Valid{OK: true},
	}
}

func TestRelativeIsTheMedianOfRatiosWithinRounds(t *testing.T) {
	results := []*Result{
		result("ref", 1, 100, 1000), result("new", 1, 1000, 500),
		result("ref", 2, 50, 1000), result("new", 2, 1000, 250), // a slow moment for ref alone
		result("ref", 3, 100, 1000), result("new", 3, 1100, 500),
	}
	cut := result("new", 4, 1, 1)
	cut.Invalidate(ReasonInterrupted)
	results = append(results, result("ref", 4, 1, 1), cut)

	rows := RelativeTo("ref", results)
	require.Len(t, rows, 2)
	row := rows[1]
	require.Equal(t, "new", row.Impl)
	require.Equal(t, 3, row.Rounds)
	require.Equal(t, "cycle", row.Latency)
	require.Equal(t, &Ratio{Median: 11, Min: 10, Max: 20}, row.Throughput)
	require.Equal(t, &Ratio{Median: 0.5, Min: 0.25, Max: 0.5}, row.P99)
	require.Equal(t, &Ratio{Median: 1, Min: 1, Max: 1}, row.CPUPerOp)
	require.Nil(t, row.AllocsPerOp, "0/0 is no ratio")
	require.Equal(t, 1.0, rows[0].Throughput.Median)
	require.Empty(t, RelativeTo("absent", results))
}

func TestRelativeOfNothingAcquiredIsStillJSON(t *testing.T) {
	rows := RelativeTo("ref", []*Result{result("ref", 1, 0, 0), result("new", 1, 0, 0)})
	b, err := json.Marshal(rows)
	require.NoError(t, err)
	require.NotContains(t, string(b), "throughput")
}

func TestWhatAcquiredNothingHasNoRatioButOfItsThroughput(t *testing.T) {
	nothing := result("new", 1, 0, 0)
	nothing.Latency.Cycle, nothing.Client = &Summary{}, Client{}
	ref := result("ref", 1, 100, 1000)
	ref.Client.AllocsPerOp = 5
	row := RelativeTo("ref", []*Result{ref, nothing})[1]
	require.Equal(t, &Ratio{}, row.Throughput)
	require.Nil(t, row.P50, "not infinitely fast")
	require.Nil(t, row.P99)
	require.Nil(t, row.CPUPerOp)
	require.Nil(t, row.AllocsPerOp)
}

func TestMedianOfAnEvenNumberIsBetweenTheMiddleTwo(t *testing.T) {
	var p pairs
	for _, ratio := range []float64{4, 1, 3, 2} {
		p.add(ratio, 1)
	}
	r := p.ratio()
	require.Equal(t, []float64{2.5, 1, 4}, []float64{r.Median, r.Min, r.Max})
}

func TestADifferenceIsSignificantOnlyWhenItIsMoreThanChance(t *testing.T) {
	rounds := func(n int, own, ref []float64) *Ratio {
		var p pairs
		for i := range n {
			p.add(own[i], ref[i])
		}
		return p.ratio()
	}
	ref := []float64{100, 102, 98, 101, 99}
	double := []float64{200, 204, 196, 202, 198}
	noise := []float64{101, 97, 103, 99.5, 100.5}

	r := rounds(5, double, ref)
	require.True(t, r.Significant)
	require.InDelta(t, 2.0/252, *r.P, 1e-9)
	require.Len(t, r.CI, 2)
	require.LessOrEqual(t, r.CI[0], r.Median)
	require.GreaterOrEqual(t, r.CI[1], r.Median)

	r = rounds(5, noise, ref)
	require.False(t, r.Significant)
	require.Greater(t, *r.P, 0.05)
	require.Less(t, r.CI[0], r.CI[1])

	r = rounds(3, double, ref)
	require.False(t, r.Significant, "three rounds are too few")
	require.Nil(t, r.P)
	require.Nil(t, r.CI)
}

func TestErrorNamesItsTargetOnce(t *testing.T) {
	target := Target{Name: "muxlock"}
	require.EqualError(t, target.Failed(errors.New("muxlock: closed")), "muxlock: closed")
	require.EqualError(t, target.Failed(errors.New("connection refused")), "muxlock: connection refused")
	target.Setting = map[string]string{"workers": "8", "keys": "1"}
	require.EqualError(t, target.Failed(errors.New("muxlock: closed")), "keys=1 workers=8: muxlock: closed")
	require.EqualError(t, target.Failed(errors.New("connection refused")), "keys=1 workers=8: muxlock: connection refused")
}
