package main

import (
	"cmp"
	"context"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

// schedule is the runs that a plan makes.
type schedule interface {
	// count is how many there are, at most.
	count() int
	// run makes them, on targets that open gives for a plan. It returns the results
	// so far also beside an error.
	run(ctx context.Context, open func(*plan) []target, show func(bench.Progress)) ([]*bench.Result, error)
	// complete adds to the document what the runs show together.
	complete(*result.Document)
	// judge is the verdict on them.
	judge(ctx context.Context, results []*bench.Result, runErr error) error
}

// rounds is every implementation in turn.
type rounds struct{ *plan }

func (r rounds) count() int { return r.rounds * len(r.impls) }

func (r rounds) run(ctx context.Context, open func(*plan) []target, show func(bench.Progress)) ([]*bench.Result, error) {
	cfg := r.cfg
	cfg.Progress = show
	return compareInTurn(ctx, open(r.plan), cfg, r.rounds)
}

func (r rounds) complete(*result.Document) {}

func (r rounds) judge(ctx context.Context, results []*bench.Result, runErr error) error {
	return cmp.Or(grave(ctx, results, runErr), lost(r.plan, results), notValid(results), judgeObjectives(results))
}
