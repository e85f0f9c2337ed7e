package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/session"
	"muxlock/internal/usage"
)

func (c commands) run(f *plan.Flags) *cobra.Command {
	return c.load(f, f.Plan, &cobra.Command{
		Use:   "run",
		Short: "Load one implementation and show every figure",
		Example: `  lockbench run --workers 1024
  lockbench run --rate 5k --dist zipf:0.99 --keys 10000
  lockbench run --masters a:6379,b:6379,c:6379 -o json --out result.json`,
		Args: usage.Args(cobra.NoArgs),
	}, "muxlock", 1)
}

func (c commands) compare(f *plan.Flags) *cobra.Command {
	return c.load(f, f.Loads, &cobra.Command{
		Use:   "compare",
		Short: "Run implementations in turn and show them side by side",
		Long: `Run implementations in turn and show them side by side: callers with names of their own, 64 and a lone one, and one name that
4 processes of 4 callers want and hold for 1 ms. Each has a --duration and a --warmup of its own. With a flag of the load, such as
--workers or --keys, there is only the load that the flags describe.`,
		Example: `  lockbench compare --workers 1024
  lockbench compare --impl muxlock,raw --workers 1024
  lockbench compare --fault delay:1:50ms --rounds 3`,
		Args: usage.Args(cobra.NoArgs),
	}, "muxlock,redsync-autopipeline,redsync-rueidis,redsync-goredis,redislock,muxlock-single,raw", 6)
}

// load gives a command the flags of a load. The command makes the runs of the plan.
func (c commands) load(f *plan.Flags, made func(string) (*plan.Plan, error), cmd *cobra.Command, impls string, rounds int) *cobra.Command {
	f.Declare(cmd.Flags(), impls, rounds, formats...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := made(cmd.Name())
		if err != nil {
			return err
		}
		return c.execute(cmd, p, procedure{})
	}
	return cmd
}

// procedure is what differs between commands with a load.
type procedure struct {
	says string       // before the runs, on standard error
	runs session.Runs // nil: those of the plan
	// complete adds what is of all runs together to the document, or writes it elsewhere; may be nil.
	complete func(*result.Document) error
	excused  []bench.ReasonKind // as in judge
}

// execute is the common part of all commands with a load: find masters, load, write, judge.
func (c commands) execute(cmd *cobra.Command, p *plan.Plan, s procedure) error {
	out, err := open(cmd, p.Output)
	if err != nil {
		return err
	}
	defer out.close()
	if s.says != "" && !p.Output.Quiet {
		fmt.Fprintln(cmd.ErrOrStderr(), s.says)
	}
	ctx := cmd.Context()
	doc, runErr := c.open.Measure(ctx, p, cmd.ErrOrStderr(), s.runs)
	if doc == nil || len(doc.Results) == 0 && runErr != nil && ctx.Err() == nil { // nothing to show
		return interruptedOr(ctx, runErr)
	}
	if s.complete != nil {
		runErr = errors.Join(runErr, s.complete(doc))
	}
	return worst(judge(ctx, p, doc, runErr, s.excused...), out.document(*doc))
}
