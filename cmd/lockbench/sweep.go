package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/session"
	"muxlock/cmd/lockbench/internal/usage"
)

func sweepCommand() *cobra.Command {
	var f plan.Flags
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
	f.Declare(cmd.Flags(), "muxlock", 1, formats...)
	plan.Preset(cmd.Flags(), map[string]string{"duration": "3s", "warmup": "500ms"})
	plan.Declare(cmd.Flags(), plan.OfSweep, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&params, "param", nil, "a flag and its values: workers=1,8,64 or ttl=1s..100sx10")
		fs.BoolVar(&findMax, "find-max", false, "search the highest --rate that meets every --slo; --rate is the first one tried (1k), --duration the least of each run (2s)")
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case findMax:
			return findCapacity(cmd, &f)
		case len(params) > 1:
			return usage.Formerly("sweep --param A --param B")
		case len(params) == 0:
			return usage.Errorf("sweep needs one --param, or --find-max")
		}
		return sweep(cmd, &f, params[0])
	}
	return cmd
}

// sweep prints its expected time and makes the runs. All runs share the masters of the setting
// with the most masters.
func sweep(cmd *cobra.Command, f *plan.Flags, text string) error {
	param, err := plan.ParseParam(text)
	if err != nil {
		return err
	}
	plans, err := f.Sweep(cmd.Name(), cmd.Flags(), param)
	if err != nil {
		return err
	}
	p := slices.MaxFunc(plans, func(a, b *plan.Plan) int { return a.Masters.Count - b.Masters.Count })
	if !p.Output.Quiet {
		n, each := len(plans)*p.Rounds*len(p.Impls), p.Load.Warmup+p.Load.Duration
		fmt.Fprintf(cmd.ErrOrStderr(), "%d runs of %s: %s\n", n, each, (time.Duration(n) * each).Round(time.Second))
	}
	return execute(cmd, p, swept(param, plans))
}

// swept runs every implementation at every setting, in rounds: a drift of the machine affects
// all settings alike.
func swept(param result.SweepParam, plans []*plan.Plan) procedure {
	var excused []string
	if param.Name == "rate" { // a rate that was not met is an answer there, not a failure
		excused = []string{bench.ReasonRate, bench.ReasonBacklog}
	}
	s := inRounds(plans[0], excused...)
	s.runs = session.Rounds(plans...)
	s.complete = func(doc *result.Document) {
		doc.Relative = []result.Relative{} // Relative knows no settings
		doc.Sweep = result.NewSweep([]result.SweepParam{param}, doc.Results)
	}
	return s
}
