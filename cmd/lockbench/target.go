package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

// A target is one implementation of a comparison.
type target struct {
	Name    string
	Masters int // how many masters it locks on, for Result.Masters
	// Config is what it runs under instead of what compareInTurn is given; nil: nothing of
	// its own. Setting is how the two differ, for Result.Setting.
	Config  *bench.Config
	Setting map[string]string
	Open    func(context.Context) (runner, error) // connects it
}

// runner is one implementation, connected: a lockRunner, or a load of its own.
type runner interface {
	// Run follows the rules of the function Run.
	Run(ctx context.Context, cfg bench.Config) (*bench.Result, error)
	Close() error
}

// lockRunner is a Locker under the load of Run.
type lockRunner struct {
	Name string
	bench.Locker
}

// Run loads the locker.
func (r lockRunner) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	return bench.Run(ctx, r.Name, r.Locker, cfg)
}

// compareInTurn makes a target.Run of every target once per round, in the order A B C, then
// C B A, and so on, so that a drift of the machine hits all alike.
//
// Results come in the order of the runs. When ctx ends the results so far are
// returned with a nil error, the last with ReasonInterrupted. When a target cannot be
// opened, run or closed, that error comes with its name, beside the results so far.
func compareInTurn(ctx context.Context, targets []target, cfg bench.Config, rounds int) ([]*bench.Result, error) {
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
			r, err := t.Run(ctx, cfg, round)
			if r != nil {
				results = append(results, r)
			}
			if err != nil && ctx.Err() == nil {
				return results, t.Failed(err)
			}
		}
	}
	return results, nil
}

// Failed returns the error with the target's name, if that is not in front of it already, and
// its setting.
func (t target) Failed(err error) error {
	if !strings.HasPrefix(err.Error(), t.Name+":") {
		err = fmt.Errorf("%s: %w", t.Name, err)
	}
	if len(t.Setting) > 0 {
		err = fmt.Errorf("%s: %w", result.SettingText(t.Setting), err)
	}
	return err
}

// Run opens the target, runs it as one of a round, which counts from 1, and closes it, so
// that it carries no marks of an earlier run. All targets of a round get the seed
// cfg.Seed+round-1. Errors and the end of ctx are as in runner; a result beside an error is
// what was measured before it.
func (t target) Run(ctx context.Context, cfg bench.Config, round int) (res *bench.Result, err error) {
	place := func(r *bench.Result) {
		if r != nil {
			r.Round, r.Masters, r.Setting = round, t.Masters, t.Setting
		}
	}
	if t.Config != nil {
		cfg = *t.Config
	}
	cfg.Seed += uint64(round - 1)
	if progress := cfg.Progress; progress != nil {
		cfg.Progress = func(p bench.Progress) {
			p.Round, p.Setting = round, t.Setting
			place(p.Result)
			progress(p)
		}
	}
	r, err := t.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	res, err = r.Run(ctx, cfg)
	place(res)
	return res, err
}
