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
	var params []string
	var findMax bool
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Run setting after setting, or search the highest rate that meets objectives",
		Example: `  lockbench sweep --param workers=1..512x4
  lockbench sweep --param masters=1,3,5 --impl muxlock,redsync-goredis
  lockbench sweep --find-max --slo 'response.p99<5ms'`,
		Args: usageArgs(cobra.NoArgs),
	}
	f.declare(cmd, "muxlock", 1, formats...)
	preset(cmd, "duration", "3s")
	preset(cmd, "warmup", "500ms")
	declare(cmd, ofSweep, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&params, "param", nil, "a flag and its values: workers=1,8,64 or ttl=1s..100sx10")
		fs.BoolVar(&findMax, "find-max", false, "search the highest --rate that meets every --slo; --rate is the first one tried (1k), --duration the least of each run (2s)")
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case findMax:
			return findCapacity(cmd, &f)
		case len(params) != 1:
			return usagef("sweep needs one --param, or --find-max")
		}
		return f.sweep(cmd, params[0])
	}
	return cmd
}

// sweep announces how long it will take and makes the runs, on the masters of the
// setting that has the most of them. What is swept is no argument of its own.
func (f *flags) sweep(cmd *cobra.Command, text string) error {
	param, err := parseParam(text)
	if err != nil {
		return err
	}
	for _, name := range []string{param.Name, flagOf(param.Name, cmd)} {
		if name != "embedded" && cmd.Flags().Changed(name) {
			return usagef("--param %s and --%s exclude each other", param.Name, name)
		}
	}
	plans, err := f.plans(cmd, param)
	if err != nil {
		return err
	}
	p := slices.MaxFunc(plans, func(a, b *plan) int { return a.count - b.count })
	p.runs = sweep{param, plans}
	but := []string{param.Name}
	if slices.ContainsFunc(plans, func(p *plan) bool { return p.ownNames() }) {
		but = append(but, "keys") // have no meaning there
	}
	p.args = arguments(cmd, but...)
	if !p.quiet {
		n, each := p.runs.count(), p.cfg.Warmup+p.cfg.Duration
		fmt.Fprintf(cmd.ErrOrStderr(), "%d runs of %s: %s\n", n, each, (time.Duration(n) * each).Round(time.Second))
	}
	return p.execute(cmd)
}

// sweep is every implementation at every setting, in rounds: a drift of the machine
// hits all settings alike.
type sweep struct {
	param result.SweepParam
	plans []*plan // one for each setting
}

func (s sweep) count() int { return len(s.plans) * rounds{s.plans[0]}.count() }

func (s sweep) run(ctx context.Context, open func(*plan) []target, show func(bench.Progress)) ([]*bench.Result, error) {
	var targets []target
	for _, p := range s.plans {
		cfg := p.cfg
		cfg.Progress = show
		for _, t := range open(p) {
			t.Config, t.Setting = &cfg, p.setting
			targets = append(targets, t)
		}
	}
	return compareInTurn(ctx, targets, s.plans[0].cfg, s.plans[0].rounds)
}

func (s sweep) complete(doc *result.Document) {
	doc.Relative = []result.Relative{} // it knows no settings
	doc.Sweep = result.NewSweep([]result.SweepParam{s.param}, doc.Results)
}

// judge: where the rate is swept, one that was not met is the answer and no fault.
func (s sweep) judge(ctx context.Context, results []*bench.Result, runErr error) error {
	var excused []string
	if s.param.Name == "rate" {
		excused = []string{bench.ReasonRate, bench.ReasonBacklog}
	}
	return cmp.Or(grave(ctx, results, runErr), lost(s.plans[0], results), notValid(results, excused...), judgeObjectives(results))
}
