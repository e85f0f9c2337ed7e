package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/procs"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/internal/usage"
)

// A Target is one implementation of a comparison, or those that lock together in one run.
type Target struct {
	Name    string
	Masters int // number of masters that it locks on, for Result.Masters
	Load    bench.Config
	Setting map[string]string                     // its difference to other targets, for Result.Setting
	Open    func(context.Context) (Runner, error) // connects it
	ours    bool                                  // this project's engine
}

// Targets returns the implementations of a plan, which has checked their names.
func (s *Session) Targets(p *plan.Plan) (targets []Target) {
	if p.Together {
		return []Target{s.target(p, p.Impls...)}
	}
	for _, name := range p.Impls {
		targets = append(targets, s.target(p, name))
	}
	return targets
}

func (s *Session) target(p *plan.Plan, names ...string) Target {
	addrs, name := s.Addrs[:p.Masters.Count], names[0]
	t := Target{Name: strings.Join(names, ","), Masters: len(addrs), Load: p.Config, Setting: p.Setting}
	t.Load.Progress = s.show
	impl, _ := rivals.Find(name)
	if t.ours = impl.Ours; impl.Single {
		t.Masters = 1
	}
	options := p.Options(addrs, s.Set.Kind)
	options.Distant = options.Distant || s.Set.Distance >= distant
	if c := impl.Client(options); name != raw.Name && c.Pool >= s.clients[name].Pool { // the largest pool of all settings
		s.clients[name] = c
	}
	t.Open = func(ctx context.Context) (runner Runner, err error) {
		if options.Fencing && s.Set.Kind != result.Given {
			if options.SetUp = bench.RandomKeyPrefix(); rivals.CanFence(names) {
				err = rivals.SetUp(ctx, options)
			}
		}
		if err == nil {
			runner, err = open(ctx, names, options, p.Procs)
		}
		return riggedRunner{runner, s, p}, p.Refused(err)
	}
	return t
}

// open connects an implementation in this process, or one or more in several others.
func open(ctx context.Context, names []string, o rivals.Options, n int) (Runner, error) {
	switch {
	case names[0] == raw.Name:
		return raw.Open(ctx, o.Masters, o.TTL)
	case n > 1:
		return procs.Open(ctx, names, o, n)
	}
	impl, _ := rivals.Find(names[0])
	locker, err := impl.Open(ctx, o)
	return lockRunner{Name: names[0], Locker: locker}, err
}

// tryOut opens each target once before the first run. Otherwise a target that cannot run on these
// masters would end a comparison in its first round. A rival that fails is a usage error.
func tryOut(ctx context.Context, targets []Target) error {
	for _, t := range targets {
		runner, err := t.Open(ctx)
		if err == nil {
			err = runner.Close()
		}
		switch {
		case err != nil && t.ours:
			return t.Failed(err)
		case err != nil:
			return usage.Errorf("--impl %s cannot run on these masters: %w", t.Name, err)
		}
	}
	return nil
}

// InTurn runs every target once per round, in the order A B C, then C B A, and so on. A drift of
// the machine thus affects all alike.
//
// Results come in the order of the runs. When ctx ends, InTurn returns the results so far and a nil
// error; the last result has ReasonInterrupted. When a target cannot be opened, run or closed, it
// returns the results so far and the error with the target's name.
func InTurn(ctx context.Context, targets []Target, rounds int) ([]*bench.Result, error) {
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
			r, err := t.Run(ctx, round)
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

// Failed puts the target's name, unless it is there already, and its setting before an error.
func (t Target) Failed(err error) error {
	if !strings.HasPrefix(err.Error(), t.Name+":") {
		err = fmt.Errorf("%s: %w", t.Name, err)
	}
	if len(t.Setting) > 0 {
		err = fmt.Errorf("%s: %w", result.SettingText(t.Setting), err)
	}
	return err
}

// Run opens the target, runs it in a round, counted from 1, and closes it. So no state of an
// earlier run is left. All targets of a round get the seed Load.Seed+round-1. Errors and the end of
// ctx are as in Runner. With an error, the result has the figures before it.
func (t Target) Run(ctx context.Context, round int) (res *bench.Result, err error) {
	place := func(r *bench.Result) {
		if r != nil {
			r.Round, r.Masters, r.Setting = round, t.Masters, t.Setting
		}
	}
	cfg := t.Load
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
