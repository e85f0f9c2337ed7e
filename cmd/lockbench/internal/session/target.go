package session

import (
	"context"
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
	t.Open = func(ctx context.Context) (Runner, error) {
		runner, err := s.connect(ctx, p, names, options)
		return runner, p.Refused(err)
	}
	return t
}

// Connect connects implementations of a plan, which lock together in the Runner.
type Connect func(ctx context.Context, p *plan.Plan, names []string, o rivals.Options) (Runner, error)

// real connects an implementation in this process, or one or more in several others. It first sets up masters of lockbench's
// own for fencing.
func (s *Session) real(ctx context.Context, p *plan.Plan, names []string, o rivals.Options) (r Runner, err error) {
	if o.Fencing && s.Set.Kind != result.Given {
		if o.SetUp = bench.RandomKeyPrefix(); rivals.CanFence(names) {
			if err := rivals.SetUp(ctx, o); err != nil {
				return nil, err
			}
		}
	}
	switch impl, _ := rivals.Find(names[0]); {
	case impl.Name == raw.Name:
		r, err = raw.Open(ctx, o.Masters, o.TTL)
	case p.Procs > 1:
		r, err = procs.Open(ctx, names, o, p.Procs)
	default:
		var locker bench.Locker
		locker, err = impl.Open(ctx, o)
		r = lockRunner{names[0], locker}
	}
	return rigged{r, s, p}, err
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
			return err // the engine names itself
		case err != nil:
			return usage.Errorf("--impl %s cannot run on these masters: %w", t.Name, err)
		}
	}
	return nil
}
