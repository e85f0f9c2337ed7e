package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/output"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/internal/redisserver"
)

func runCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Load one implementation and show every figure",
		Example: `  lockbench run --workers 1024
  lockbench run --rate 5k --dist zipf:0.99 --keys 10000
  lockbench run --masters a:6379,b:6379,c:6379 -o json --out result.json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return inRounds(cmd, &f) },
	}
	f.register(cmd, "muxlock", 1)
	return cmd
}

func compareCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Run implementations in turn and show them side by side",
		Example: `  lockbench compare --workers 1024
  lockbench compare --impl muxlock,raw --workers 1024
  lockbench compare --fault delay:1:50ms --rounds 3`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return inRounds(cmd, &f) },
	}
	f.register(cmd, "muxlock,redsync-goredis,redsync-rueidis,muxlock-single", 5)
	return cmd
}

// schedule is the runs of a command.
type schedule interface {
	// count is how many runs there are, at most.
	count() int
	// run makes them, on targets that open gives for a plan. It returns the results
	// so far also beside an error.
	run(ctx context.Context, open func(*plan) []bench.Target, show func(bench.Progress)) ([]*bench.Result, error)
	// complete adds to the document what the runs show together.
	complete(*output.Document)
	// verdict is what speaks against results that are safe and complete.
	verdict([]*bench.Result) error
}

// rounds is every implementation in turn.
type rounds struct{ *plan }

func inRounds(cmd *cobra.Command, f *flags) error {
	p, err := f.plan(cmd)
	if err != nil {
		return err
	}
	return execute(cmd, p, rounds{p})
}

func (r rounds) count() int { return r.rounds * len(r.impls) }

func (r rounds) run(ctx context.Context, open func(*plan) []bench.Target, show func(bench.Progress)) ([]*bench.Result, error) {
	cfg := r.cfg
	cfg.Progress = show
	return bench.Compare(ctx, open(r.plan), cfg, r.rounds)
}

func (r rounds) complete(*output.Document) {}

func (r rounds) verdict(results []*bench.Result) error { return notValid(results) }

// execute is what the subcommands that load have in common: find masters, load,
// write, judge.
func execute(cmd *cobra.Command, p *plan, runs schedule) error {
	to := cmd.OutOrStdout()
	if p.out != "" {
		file, err := os.Create(p.out)
		if err != nil {
			return usagef("--out: %w", err)
		}
		defer file.Close()
		to = file
	}

	ctx := cmd.Context()
	doc, runErr := measure(ctx, p, runs, cmd.ErrOrStderr())
	if doc == nil || len(doc.Results) == 0 && ctx.Err() == nil { // nothing to show
		return interruptedOr(ctx, runErr)
	}
	if err := write(to, p, *doc); err != nil {
		return errors.Join(runErr, err)
	}
	return judge(ctx, runs, doc.Results, runErr)
}

// measure gets the masters, runs the targets and lets the masters go. The document
// holds the results so far, also beside an error; it is nil when no run could begin.
func measure(ctx context.Context, p *plan, runs schedule, log io.Writer) (_ *output.Document, err error) {
	set, err := p.start(ctx, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	rig := &faults.Rig{}
	addrs := set.Addrs
	if len(p.faults) > 0 {
		if rig, err = faults.NewRig(p.faults, set.Servers); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, rig.Close()) }()
		addrs = rig.Addrs()
	}
	open := func(p *plan) (targets []bench.Target) {
		for _, name := range p.impls {
			targets = append(targets, newTarget(name, p, rig, addrs[:p.count], set.Kind))
		}
		return targets
	}

	if slices.Contains(p.impls, raw.Name) {
		fmt.Fprintf(log, "raw: %s\n", raw.Caveat)
	}
	progress := output.NewProgress(log, output.ProgressOptions{Quiet: p.quiet, Rounds: p.rounds, Runs: runs.count()})
	defer progress.Close() // also when something panics
	results, err := runs.run(ctx, open, progress.Show)
	progress.Close()
	if set.Kind == masters.Embedded {
		for _, r := range results {
			r.Invalidate(output.EmbeddedReason)
		}
	}
	doc := p.document(set, results)
	runs.complete(doc)
	return doc, err
}

// start gets the masters that the plan asks for. Only when the user did not ask
// for any does a missing server program lead to embedded ones.
func (p *plan) start(ctx context.Context, log io.Writer) (*masters.Set, error) {
	switch p.kind {
	case masters.Given:
		return masters.Use(ctx, p.given)
	case masters.Local:
		set, err := masters.StartLocal(ctx, p.count)
		if !errors.Is(err, redisserver.ErrNoBinary) || p.kindGiven {
			return set, err
		}
		fmt.Fprintln(log, err)
		if len(p.faults) > 0 {
			return nil, usagef("--fault needs local masters: %w", err)
		}
	}
	fmt.Fprintf(log, "EMBEDDED MASTERS: %d in-process miniredis. The locks are real, the SPEED MEANS NOTHING.\n", p.count)
	return masters.StartEmbedded(p.count)
}

func (p *plan) document(set *masters.Set, results []*bench.Result) *output.Document {
	cfg := bench.RunConfig{Config: p.cfg, Impls: p.impls, Rounds: p.rounds, Reference: p.reference}
	for _, addr := range set.Addrs {
		cfg.Masters = append(cfg.Masters, masters.Redact(addr))
	}
	if results == nil {
		results = []*bench.Result{}
	}
	doc := output.Document{Document: bench.NewDocument(cfg, results)}
	doc.Config = output.Config{
		RunConfig: cfg, Command: p.command, Target: string(set.Kind), Server: set.Version,
		MasterTimeout: p.masterTimeout, Faults: append([]string{}, p.faultTexts...),
	}
	return &doc
}

func write(w io.Writer, p *plan, doc output.Document) error {
	switch p.format {
	case "json":
		return output.JSON(w, doc)
	case "bench":
		return bench.WriteBench(w, doc.Results)
	}
	switch p.command {
	case "compare":
		return output.Compare(w, doc, caveats(p.impls))
	case "sweep":
		return output.Sweep(w, doc, caveats(p.impls))
	}
	return output.Run(w, doc, caveats(p.impls))
}

// judge turns results into the exit code: what is worst comes first. That masters
// are embedded makes figures invalid, as they say, but is no failure of the run.
func judge(ctx context.Context, runs schedule, results []*bench.Result, runErr error) error {
	for _, r := range results {
		if r.Safety.Overlaps > 0 {
			return errors.Join(verdict{exitUnsafe, fmt.Sprintf("SAFETY VIOLATION: %s let %d holders overlap", r.Impl, r.Safety.Overlaps)}, runErr)
		}
	}
	if ctx.Err() != nil || runErr != nil {
		return interruptedOr(ctx, runErr)
	}
	return runs.verdict(results)
}

// notValid names the first run that does not show what it seems to, but for the
// reasons that begin with one of excused.
func notValid(results []*bench.Result, excused ...string) error {
	for _, r := range results {
		var bad []string
		for _, reason := range r.Valid.Reasons {
			if reason != output.EmbeddedReason && !slices.ContainsFunc(excused, func(e string) bool { return strings.HasPrefix(reason, e) }) {
				bad = append(bad, reason)
			}
		}
		if len(bad) > 0 {
			return verdict{exitNotValid, fmt.Sprintf("not valid: %s round %d: %s", r.Impl, r.Round, strings.Join(bad, "; "))}
		}
	}
	return nil
}

// interruptedOr puts the user's interruption before the errors that follow from it.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return verdict{exitInterrupted, "interrupted"}
	}
	return err
}
