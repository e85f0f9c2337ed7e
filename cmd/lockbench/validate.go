package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/cmd/lockbench/internal/validation"
	"muxlock/cmd/lockbench/internal/view"
)

const (
	validateName = "validate"

	shortestCase = 100 * time.Millisecond
	longestCase  = 10 * time.Minute
)

// validateFlags is the command line of validate.
type validateFlags struct {
	flags
	cases []string
}

func validateCommand() *cobra.Command {
	var f validateFlags
	cmd := &cobra.Command{
		Use:   validateName,
		Short: "Hold the formulae behind advise against what happens on this machine",
		Long: `Sets up local masters, late as a distant network makes them, locks on them, and holds
what the formulae predict against what is measured: quorum times (F2, F3), leases that
end before the quorum comes (F5), split votes (F13), waiters that poll (F10), queues
for one name (F11, F12). Then it does as it is advised: under stalls of all masters, a
slow fork of one, pauses of the client and holds of two lengths it measures, takes the
advice, and holds the advised lease, half and a quarter of the least against what the
advice says they lose (F4, F6); and renewed ones through an outage (F7). A prediction is
outside where its interval and that of what was measured do not meet. It takes about three
minutes, and a machine that has nothing else to do: its own stalls, shown beside the
figures, are in no formula.

Exit codes: 0 all predictions are within what was measured, 5 some are not.`,
		Example: `  lockbench validate
  lockbench validate --case split,gap --seed 7
  lockbench validate -o json --out validation.json --html validation.html`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.execute(cmd) },
	}
	declare(cmd, ofLoad, func(fs *pflag.FlagSet) {
		fs.StringSliceVar(&f.cases, "case", validation.Names(), "what to look at")
	})
	load := f.others(cmd.Name())
	borrow(cmd, load, "duration", "seed", "output", "out", "html")
	preset(cmd, "duration", "6s")
	cmd.Flags().Lookup("duration").Usage = "how long to measure a setting; from half to twice as long where more or less happens in a second"
	cmd.Flags().Lookup("seed").Usage = "fixes arrivals, holds and pauses, but not what is late on the way; 0 = a random one, shown in the output"
	return cmd
}

// check finds what is wrong with the command line.
func (f *validateFlags) check() error {
	switch err := validation.Known(f.cases); {
	case err != nil:
		return usagef("--case: %w", err)
	case len(f.cases) == 0:
		return usagef("--case names none")
	case f.cfg.Duration < shortestCase || f.cfg.Duration > longestCase:
		return usagef("--duration must be %s to %s, got %s", shortestCase, longestCase, f.cfg.Duration)
	}
	return f.outputs.check(few)
}

func (f *validateFlags) execute(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	out, err := f.outputs.open(cmd)
	if err != nil {
		return err
	}
	defer out.close()
	for f.cfg.Seed == 0 {
		f.cfg.Seed = rand.Uint64()
	}

	ctx, log := cmd.Context(), cmd.ErrOrStderr()
	fmt.Fprintf(log, "validate: seed %d\n", f.cfg.Seed)
	checks, runErr := validation.Run(ctx, validation.Options{
		Cases: f.cases, Seed: f.cfg.Seed, Length: f.cfg.Duration,
		Progress: func(setting string, check *validation.Check) { showCheck(log, setting, check) },
	})
	if runErr != nil {
		runErr = interruptedOr(ctx, runErr)
	}
	if len(checks) == 0 {
		return runErr
	}
	doc := f.document(cmd, checks)
	if runErr == nil {
		runErr = judgeChecks(checks)
	}
	return worst(runErr, out.document(doc))
}

// document has no results: nothing was loaded for its own sake.
func (f *validateFlags) document(cmd *cobra.Command, checks []validation.Check) result.Document {
	cfg := bench.RunConfig{Config: bench.Config{Seed: f.cfg.Seed, Duration: f.cfg.Duration}, Rounds: 1}
	doc := result.Document{Document: bench.NewDocument(cfg, nil), Validation: checks}
	doc.Config = result.Config{RunConfig: doc.Document.Config, Command: validateName, Target: string(masters.Local), Faults: []string{}, SLO: []string{}, Args: arguments(cmd)}
	return doc
}

func showCheck(log io.Writer, setting string, c *validation.Check) {
	if c == nil {
		fmt.Fprintln(log, setting)
		return
	}
	fmt.Fprintf(log, "  %s %s: predicted %s, measured %s: %s\n", c.Formula, c.Quantity,
		units.In(c.Unit, c.Predicted.Value), units.In(c.Unit, c.Measured.Value), c.Verdict)
}

// judgeChecks: where a prediction fails, what rests on it is not valid here.
func judgeChecks(checks []validation.Check) error {
	if slices.ContainsFunc(checks, func(c validation.Check) bool { return c.Verdict != validation.Within }) {
		return verdict{exitNotValid, view.ValidationSummary(checks)}
	}
	return nil
}
