package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/rivals"
)

// opening is a target without locks. It counts calls, and can fail to close.
type opening struct {
	rivals.Noop
	opened, closed int
	closeErr       error
}

func (o *opening) target(name string) Target {
	return Target{Name: name, Masters: 5, Open: func(context.Context) (Runner, error) {
		o.opened++
		return lockRunner{name, o}, nil
	}}
}

func (o *opening) Close() error { o.closed++; return o.closeErr }

// load is a Runner without a Locker.
type load func(context.Context, bench.Config) (*bench.Result, error)

func (l load) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) { return l(ctx, cfg) }
func (load) Close() error                                                       { return nil }

func (l load) target(name string) Target {
	return Target{Name: name, Masters: 1, Open: func(context.Context) (Runner, error) { return l, nil }}
}

func short() bench.Config {
	return bench.Config{Workers: 1, Duration: 5 * time.Millisecond, TTL: time.Second}
}

// inTurn is InTurn for targets with one load.
func inTurn(ctx context.Context, targets []Target, load bench.Config, rounds int) ([]*bench.Result, error) {
	for i := range targets {
		targets[i].Load = load
	}
	return InTurn(ctx, targets, rounds)
}

func TestCompareInterleavesRoundsWithOneSeedEach(t *testing.T) {
	var a, c opening
	own := load(func(_ context.Context, cfg bench.Config) (*bench.Result, error) {
		return &bench.Result{Impl: "b", Seed: cfg.Seed}, nil
	})
	cfg := short()
	cfg.Seed = 9
	var shown []string
	cfg.Progress = func(p bench.Progress) {
		if p.Result != nil {
			require.Equal(t, p.Round, p.Result.Round)
			shown = append(shown, fmt.Sprint(p.Impl, p.Round))
		}
	}
	results, err := inTurn(t.Context(), []Target{a.target("a"), own.target("b"), c.target("c")}, cfg, 3)
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

func TestCompareRunsATargetUnderItsLoad(t *testing.T) {
	own := load(func(_ context.Context, cfg bench.Config) (*bench.Result, error) {
		r := &bench.Result{Impl: "b", Workers: cfg.Workers, Seed: cfg.Seed}
		cfg.Progress(bench.Progress{Result: r})
		return r, nil
	})
	var shown []string
	var targets []Target
	for _, workers := range []int{3, 4} {
		t := own.target("b")
		t.Load, t.Setting = short(), map[string]string{"workers": strconv.Itoa(workers)}
		t.Load.Workers, t.Load.Seed = workers, 7
		t.Load.Progress = func(p bench.Progress) { shown = append(shown, p.Setting["workers"]) }
		targets = append(targets, t)
	}
	results, err := InTurn(t.Context(), targets, 2)
	require.NoError(t, err)
	var order []string
	for _, r := range results {
		order = append(order, fmt.Sprint(r.Setting["workers"], " ", r.Workers, " ", r.Seed))
	}
	require.Equal(t, []string{"3 3 7", "4 4 7", "4 4 8", "3 3 8"}, order)
	require.Equal(t, []string{"3", "4", "4", "3"}, shown)
}

func TestCompareKeepsResultsWhenATargetFails(t *testing.T) {
	cause := errors.New("no such server")
	unopened := Target{Name: "bad", Open: func(context.Context) (Runner, error) { return nil, cause }}
	broken := load(func(context.Context, bench.Config) (*bench.Result, error) { return nil, cause })
	for _, bad := range []Target{unopened, broken.target("bad")} {
		var good opening
		results, err := inTurn(t.Context(), []Target{good.target("good"), bad}, short(), 2)
		require.ErrorIs(t, err, cause)
		require.ErrorContains(t, err, "bad: ")
		require.Len(t, results, 1)
		require.Equal(t, 1, good.closed)
	}
}

func TestCompareReportsATargetThatDoesNotClose(t *testing.T) {
	a := opening{closeErr: errors.New("stuck")}
	results, err := inTurn(t.Context(), []Target{a.target("a")}, short(), 2)
	require.ErrorIs(t, err, a.closeErr)
	require.Len(t, results, 1)
}

// interrupting ends a run that is under way.
type interrupting struct {
	*opening
	cancel context.CancelFunc
}

func (l interrupting) Acquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
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
		return lockRunner{"a", interrupting{&a, cancel}}, nil
	}
	results, err := inTurn(ctx, []Target{first, b.target("b")}, cfg, 2)
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.True(t, results[0].Interrupted())
	require.Equal(t, 1, a.closed)
	require.Zero(t, b.opened)
}

func TestAnErrorThatFollowsFromTheInterruptIsNone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := load(func(ctx context.Context, _ bench.Config) (*bench.Result, error) {
		cancel()
		return &bench.Result{}, ctx.Err()
	})
	results, err := inTurn(ctx, []Target{l.target("a")}, short(), 2)
	require.NoError(t, err)
	require.Len(t, results, 1)
}

func TestErrorNamesItsTargetOnce(t *testing.T) {
	target := Target{Name: "muxlock"}
	require.EqualError(t, target.Failed(errors.New("muxlock: closed")), "muxlock: closed")
	require.EqualError(t, target.Failed(errors.New("connection refused")), "muxlock: connection refused")
	target.Setting = map[string]string{"workers": "8", "keys": "1"}
	require.EqualError(t, target.Failed(errors.New("muxlock: closed")), "keys=1 workers=8: muxlock: closed")
	require.EqualError(t, target.Failed(errors.New("connection refused")), "keys=1 workers=8: muxlock: connection refused")
}
