package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/usage"
)

func (c commands) sweep(f *plan.Flags) *cobra.Command {
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
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.sweeps(cmd, f) }
	return cmd
}

// sweeps runs every implementation at every setting, in rounds: a drift of the machine affects all settings alike. A sweep of
// rates with objectives makes the runs of each implementation by itself. All runs share the masters of the setting with the
// most masters.
func (c commands) sweeps(cmd *cobra.Command, f *plan.Flags) error {
	if len(f.Params) != 1 {
		return usage.Errorf("sweep needs one --param")
	}
	param, err := plan.ParseParam(f.Params[0])
	if err != nil {
		return err
	}
	p, err := f.Sweep(cmd.Name(), param)
	if err != nil {
		return err
	}
	n, each := len(p.Each)*p.Rounds*len(p.Impls), p.Warmup+p.Duration
	s := procedure{says: fmt.Sprintf("%d runs of %s: %s", n, each, (time.Duration(n) * each).Round(time.Second))}
	search := &highest{plan: p}
	if param.Name == "rate" {
		s.excused = []bench.ReasonKind{bench.ReasonRate, bench.ReasonBacklog} // a rate that was not met is an answer there
		if len(p.Objectives) > 0 {
			if cmd.Flags().Changed("rounds") {
				return usage.Errorf("--rounds cannot be used with --param rate and --slo, which makes %d runs at each rate", result.RateRuns)
			}
			p.Rounds, s.says, s.runs = result.RateRuns, "", search.run
		}
	}
	s.complete = func(doc *result.Document) error {
		doc.Relative = []result.Relative{} // Relative knows no settings
		doc.Sweep = result.NewSweep([]result.SweepParam{param}, doc.Results)
		doc.Sweep.Highest = search.found
		return nil
	}
	return c.execute(cmd, p, s)
}
