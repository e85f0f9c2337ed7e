package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

func sweepCommand() *cobra.Command {
	var f flags
	var texts []string
	var findMax bool
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Run setting after setting, or search the highest rate that meets objectives",
		Example: `  lockbench sweep --param workers=1..512x4
  lockbench sweep --param masters=1,3,5 --param workers=8,64 --impl muxlock,redsync-goredis
  lockbench sweep --find-max --slo 'response.p99<5ms'`,
		Args: usageArgs(cobra.NoArgs),
	}
	f.declare(cmd, "muxlock", 1, formats...)
	preset(cmd, "duration", "3s")
	preset(cmd, "warmup", "500ms")
	declare(cmd, ofSweep, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&texts, "param", nil, "a flag and its values: workers=1,8,64 or ttl=1s..100sx10; twice for a grid")
		fs.BoolVar(&findMax, "find-max", false, "search the highest --rate that meets every --slo; --rate is the first one tried (1k), --duration that of each run (2s)")
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		params, err := f.params(cmd, texts)
		if err != nil {
			return err
		}
		if findMax {
			return findCapacity(cmd, &f, params)
		}
		if len(params) == 0 {
			return usagef("sweep needs --param or --find-max")
		}
		plans, err := f.plans(cmd, params)
		if err != nil {
			return err
		}
		return executeAll(cmd, params, plans, sweep{params, plans})
	}
	return cmd
}

// params reads every --param. None may have a flag of its own beside it.
func (f *flags) params(cmd *cobra.Command, texts []string) (params []result.SweepParam, err error) {
	settings := 1
	for _, text := range texts {
		p, err := parseParam(text)
		if err != nil {
			return nil, err
		}
		for _, name := range []string{p.Name, flagOf(p.Name, cmd)} {
			if name != "embedded" && cmd.Flags().Changed(name) {
				return nil, usagef("--param %s and --%s exclude each other", p.Name, name)
			}
		}
		if hasParam(params, p.Name) {
			return nil, usagef("--param %s is there twice", p.Name)
		}
		params = append(params, p)
		settings *= len(p.Values)
	}
	if len(params) > maxParams {
		return nil, usagef("--param may be there %d times at most, got %d", maxParams, len(params))
	}
	if settings > maxSettings {
		return nil, usagef("--param asks for %d settings; at most %d", settings, maxSettings)
	}
	return params, nil
}

// executeAll announces how long it will take and makes the runs, on the masters of the
// plan that has the most of them. What is swept is no argument of its own.
func executeAll(cmd *cobra.Command, params []result.SweepParam, plans []*plan, runs schedule, but ...string) error {
	p := slices.MaxFunc(plans, func(a, b *plan) int { return a.count - b.count })
	p.runs = runs
	for _, param := range params {
		but = append(but, param.Name)
	}
	if slices.ContainsFunc(plans, func(p *plan) bool { return p.ownNames() }) {
		but = append(but, "keys") // have no meaning there
	}
	p.args = arguments(cmd, but...)
	if !p.quiet {
		n, each := runs.count(), p.cfg.Warmup+p.cfg.Duration
		fmt.Fprintf(cmd.ErrOrStderr(), "at most %d runs of %s: %s\n", n, each, (time.Duration(n) * each).Round(time.Second))
	}
	return p.execute(cmd)
}

// sweep is every implementation at every setting, in rounds: a drift of the machine
// hits all settings alike.
type sweep struct {
	params []result.SweepParam
	plans  []*plan // one for each setting
}

func (s sweep) count() int { return len(s.plans) * rounds{s.plans[0]}.count() }

func (s sweep) run(ctx context.Context, open func(*plan) []target, show func(bench.Progress)) ([]*bench.Result, error) {
	var targets []target
	for _, p := range s.plans {
		targets = append(targets, settle(p, open(p), show)...)
	}
	return compareInTurn(ctx, targets, s.plans[0].cfg, s.plans[0].rounds)
}

// settle gives targets the setting of their plan.
func settle(p *plan, targets []target, show func(bench.Progress)) []target {
	cfg := p.cfg
	cfg.Progress = show
	for i := range targets {
		targets[i].Config, targets[i].Setting = &cfg, p.setting
	}
	return targets
}

func (s sweep) complete(doc *result.Document) {
	doc.Relative = []result.Relative{} // it knows no settings
	doc.Sweep = result.NewSweep(s.params, doc.Results)
}

// judge: where the rate is swept, one that was not met is the answer and no fault.
func (s sweep) judge(ctx context.Context, results []*bench.Result, runErr error) error {
	var excused []string
	if hasParam(s.params, "rate") {
		excused = []string{bench.ReasonRate, bench.ReasonBacklog}
	}
	return cmp.Or(grave(ctx, results, runErr), lost(s.plans[0], results), notValid(results, excused...), judgeObjectives(results))
}
