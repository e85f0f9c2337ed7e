package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/session"
)

func runCommand() *cobra.Command {
	return loadCommand(&cobra.Command{
		Use:   "run",
		Short: "Load one implementation and show every figure",
		Example: `  lockbench run --workers 1024
  lockbench run --rate 5k --dist zipf:0.99 --keys 10000
  lockbench run --masters a:6379,b:6379,c:6379 -o json --out result.json`,
		Args: usageArgs(cobra.NoArgs),
	}, "muxlock", 1)
}

// loadCommand gives a command the load's flags, and lets it make the rounds that they ask for.
func loadCommand(cmd *cobra.Command, impls string, rounds int) *cobra.Command {
	var f plan.Flags
	f.Declare(cmd.Flags(), impls, rounds, formats...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := f.Plan(cmd.Name(), cmd.Flags())
		if err != nil {
			return err
		}
		return execute(cmd, p, inRounds(p))
	}
	return cmd
}

// A schedule is the runs that a command makes of a plan, and what follows from them.
type schedule struct {
	runs session.Runs
	// complete adds to the document what the runs show together; may be nil.
	complete func(*result.Document)
	// judge is the verdict on the results. It may take up what went wrong beside them.
	judge func(ctx context.Context, results []*bench.Result, runErr error) error
}

// inRounds is every implementation in turn.
func inRounds(p *plan.Plan) schedule {
	return schedule{
		runs: session.Rounds(p),
		judge: func(ctx context.Context, results []*bench.Result, runErr error) error {
			return cmp.Or(grave(ctx, results, runErr), lost(p, results), notValid(results), judgeObjectives(results))
		},
	}
}

// execute is what all commands that load have in common: find masters, load, write, judge.
func execute(cmd *cobra.Command, p *plan.Plan, s schedule) error {
	out, err := open(cmd, p.Output, formats)
	if err != nil {
		return err
	}
	defer out.close()
	ctx := cmd.Context()
	doc, runErr := session.Measure(ctx, p, cmd.ErrOrStderr(), s.runs)
	if doc == nil || len(doc.Results) == 0 && ctx.Err() == nil { // nothing to show
		return interruptedOr(ctx, runErr)
	}
	if s.complete != nil {
		s.complete(doc)
	}
	return worst(s.judge(ctx, doc.Results, runErr), out.document(*doc))
}
