package session

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

// fake is a runner that counts how often it is opened and closed.
type fake struct {
	run            func(context.Context, bench.Config) (*bench.Result, error)
	opened, closed int
	closeErr       error
}

func (f *fake) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	return f.run(ctx, cfg)
}
func (f *fake) Close() error { f.closed++; return f.closeErr }

func (f *fake) target(name string, load bench.Config) Target {
	if f.run == nil {
		f.run = func(_ context.Context, cfg bench.Config) (*bench.Result, error) {
			r := &bench.Result{Impl: name, Workers: cfg.Workers, Seed: cfg.Seed}
			cfg.Progress(bench.Progress{Impl: name, Result: r})
			return r, nil
		}
	}
	if load.Progress == nil {
		load.Progress = func(bench.Progress) {}
	}
	return Target{Name: name, Masters: 5, Load: load, Open: func(context.Context) (Runner, error) {
		f.opened++
		return f, nil
	}}
}

// inTurn is InTurn of a new session.
func inTurn(ctx context.Context, rounds int, targets ...Target) ([]*bench.Result, error) {
	var s Session
	err := s.InTurn(ctx, targets, rounds)
	return s.Results, err
}

func TestCompareInterleavesRoundsWithOneSeedEach(t *testing.T) {
	var a, b, c fake
	var shown []string
	progress := func(p bench.Progress) {
		require.Equal(t, p.Round, p.Result.Round)
		require.Equal(t, p.Setting, p.Result.Setting)
		shown = append(shown, fmt.Sprint(p.Impl, p.Setting["workers"], p.Round))
	}
	var targets []Target
	for i, f := range []*fake{&a, &b, &c} {
		target := f.target(string("abc"[i]), bench.Config{Workers: 3 + i, Seed: 9, Progress: progress})
		target.Setting = map[string]string{"workers": fmt.Sprint(3 + i)}
		targets = append(targets, target)
	}
	results, err := inTurn(t.Context(), 3, targets...)
	require.NoError(t, err)
	var order, told []string
	for _, r := range results {
		order = append(order, fmt.Sprint(r.Impl, r.Round, " workers ", r.Workers, " masters ", r.Masters, " seed ", r.Seed))
		told = append(told, fmt.Sprint(r.Impl, r.Setting["workers"], r.Round))
	}
	require.Equal(t, []string{
		"a1 workers 3 masters 5 seed 9", "b1 workers 4 masters 5 seed 9", "c1 workers 5 masters 5 seed 9",
		"c2 workers 5 masters 5 seed 10", "b2 workers 4 masters 5 seed 10", "a2 workers 3 masters 5 seed 10",
		"a3 workers 3 masters 5 seed 11", "b3 workers 4 masters 5 seed 11", "c3 workers 5 masters 5 seed 11",
	}, order)
	require.Equal(t, told, shown)
	require.Equal(t, []int{3, 3}, []int{a.opened, a.closed}, "anew for each run")
}

func TestCompareKeepsResultsWhenATargetFails(t *testing.T) {
	cause := errors.New("no such server")
	unopened := (&fake{}).target("bad", bench.Config{})
	unopened.Open = func(context.Context) (Runner, error) { return nil, cause }
	broken := fake{run: func(context.Context, bench.Config) (*bench.Result, error) { return nil, cause }}
	for bad, kept := range map[*Target]int{&unopened: 1, new(broken.target("bad", bench.Config{})): 1, new((&fake{closeErr: cause}).target("bad", bench.Config{})): 2} {
		var good fake
		bad.Setting = map[string]string{"workers": "8"}
		results, err := inTurn(t.Context(), 2, good.target("good", bench.Config{}), *bad)
		require.ErrorIs(t, err, cause)
		require.EqualError(t, err, "bad  workers=8: no such server")
		require.Len(t, results, kept)
		require.Equal(t, 1, good.closed)
	}
}

func TestCompareStopsAtAnInterruptWithoutAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var b fake
	a := fake{run: func(ctx context.Context, _ bench.Config) (*bench.Result, error) {
		cancel()
		return &bench.Result{}, ctx.Err() // which follows from the interrupt
	}}
	results, err := inTurn(ctx, 2, a.target("a", bench.Config{}), b.target("b", bench.Config{}))
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.Equal(t, 1, a.closed)
	require.Zero(t, b.opened)
}
