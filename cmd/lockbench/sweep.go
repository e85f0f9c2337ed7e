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
	"muxlock/internal/usage"
)

func sweepCommand(f *plan.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Run setting after setting, or find the highest rate that meets objectives",
		Example: `  lockbench sweep --param workers=1..512x4
  lockbench sweep --param masters=1,3,5 --impl muxlock,redsync-goredis
  lockbench sweep --param rate=1000..128000x2 --slo 'response.p99<5ms'`,
		Args: usage.Args(cobra.NoArgs),
	}
	f.Declare(cmd.Flags(), "muxlock", 1, formats...)
	plan.Preset(cmd.Flags(), map[string]string{"duration": "3s", "warmup": "500ms"})
	plan.Declare(cmd.Flags(), plan.OfSweep, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.Params, "param", nil, "a flag and its values: workers=1,8,64 or ttl=1s..100sx10; rate with --slo: which rate is the highest that meets every objective? Up from the lowest, three runs each, of at least --duration; then smaller steps below the first that missed")
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(f.Params) != 1 {
			return usage.Errorf("sweep needs one --param")
		}
		return sweep(cmd, f, f.Params[0])
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
	rounds := cmd.Flags().Changed("rounds")
	plans, err := f.Sweep(cmd.Name(), cmd.Flags(), param)
	if err != nil {
		return err
	}
	p := slices.MaxFunc(plans, func(a, b *plan.Plan) int { return a.Masters.Count - b.Masters.Count })
	if param.Name == "rate" && len(p.Objectives) > 0 {
		if rounds {
			return usage.Errorf("--rounds cannot be used with --param rate and --slo, which makes %d runs at each rate", result.RateRuns)
		}
		return execute(cmd, plans[0], highestRates(param, plans))
	}
	if !p.Output.Quiet {
		n, each := len(plans)*p.Rounds*len(p.Impls), p.Warmup+p.Duration
		fmt.Fprintf(cmd.ErrOrStderr(), "%d runs of %s: %s\n", n, each, (time.Duration(n) * each).Round(time.Second))
	}
	return execute(cmd, p, swept(param, plans))
}

// swept runs every implementation at every setting, in rounds: a drift of the machine affects
// all settings alike.
func swept(param result.SweepParam, plans []*plan.Plan) procedure {
	s := procedure{runs: session.Rounds(plans...), complete: func(doc *result.Document) error {
		doc.Relative = []result.Relative{} // Relative knows no settings
		doc.Sweep = result.NewSweep([]result.SweepParam{param}, doc.Results)
		return nil
	}}
	if param.Name == "rate" { // a rate that was not met is an answer there, not a failure
		s.excused = []bench.ReasonKind{bench.ReasonRate, bench.ReasonBacklog}
	}
	return s
}
