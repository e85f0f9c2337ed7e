package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
)

// series runs every target once per round, A B C, then C B A, and so on, so that a
// drift of the machine hits all alike, and gives all of a round the same seed.
//
// bench.Compare does this for lockers alone. Here a target may bring a load of its
// own, faults come and go with each run, and a target is opened for each run, so
// that none carries the marks of an earlier fault.
//
// When ctx ends the results so far are returned with a nil error.
func series(ctx context.Context, targets []target, cfg bench.Config, rounds int, rig *faults.Rig) ([]*bench.Result, error) {
	var results []*bench.Result
	for round := 1; round <= rounds; round++ {
		order := slices.Clone(targets)
		if round%2 == 0 {
			slices.Reverse(order)
		}
		for _, t := range order {
			if ctx.Err() != nil {
				return results, nil
			}
			cfg := cfg
			cfg.Seed += uint64(round - 1)
			if progress := cfg.Progress; progress != nil {
				cfg.Progress = func(p bench.Progress) {
					p.Round = round
					progress(p)
				}
			}
			r, err := once(ctx, t, cfg, rig)
			if r != nil {
				r.Round, r.Masters = round, t.masters
				results = append(results, r)
			}
			if err != nil && ctx.Err() == nil {
				return results, fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	return results, nil
}

// once opens a target, runs it and closes it.
func once(ctx context.Context, t target, cfg bench.Config, rig *faults.Rig) (_ *bench.Result, err error) {
	run, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	end := rig.Begin(cfg.Warmup)
	defer func() { err = errors.Join(err, end()) }() // before Close, which may need the masters
	return run.Run(ctx, cfg)
}
