package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/live"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
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
		RunE: func(cmd *cobra.Command, _ []string) error { return execute(cmd, &f) },
	}
	f.declare(cmd, "muxlock", 1, formats...)
	return cmd
}

// execute is both subcommands.
func execute(cmd *cobra.Command, f *flags) error {
	p, err := f.plan(cmd)
	if err != nil {
		return err
	}
	return p.execute(cmd)
}

// execute is what all commands that load have in common: find masters, load, write,
// judge.
func (p *plan) execute(cmd *cobra.Command) error {
	out, err := p.outputs.open(cmd)
	if err != nil {
		return err
	}
	defer out.close()
	ctx := cmd.Context()

	doc, runErr := measure(ctx, p, cmd.ErrOrStderr())
	if doc == nil || len(doc.Results) == 0 && ctx.Err() == nil { // nothing to show
		return interruptedOr(ctx, runErr)
	}
	return worst(p.runs.judge(ctx, doc.Results, runErr), out.document(*doc))
}

// onTerminal reports whether a person reads what is written there.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// measure gets the masters, runs the targets and lets the masters go. The document
// holds the results so far, also beside an error; it is nil when no run could begin.
func measure(ctx context.Context, p *plan, log io.Writer) (_ *result.Document, err error) {
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
	clients := map[string]rivals.Client{}
	open := func(p *plan) (targets []target) {
		p.engine.Distant = set.Distance >= distant
		p.addClients(clients, set.Kind)
		for _, name := range p.impls {
			targets = append(targets, newTarget(name, p, rig, addrs[:p.count], set.Kind))
		}
		return targets
	}

	if slices.Contains(p.impls, raw.Name) {
		fmt.Fprintf(log, "raw: %s\n", raw.Caveat)
	}
	if err := tryOut(ctx, open(p)); err != nil {
		return nil, err
	}

	progress := log
	if p.quiet {
		progress = io.Discard
	}
	line := live.NewLine(progress, p.rounds)
	defer line.End() // also when something panics
	results, err := p.runs.run(ctx, open, line.Show)
	line.End()
	if set.Kind == masters.Embedded {
		for _, r := range results {
			r.Invalidate(result.EmbeddedReason)
		}
	}
	for _, r := range results {
		for _, o := range p.objectives {
			r.SLO = append(r.SLO, o.Judge(r))
		}
	}
	doc := p.document(set, results)
	doc.Config.Clients = clients
	p.runs.complete(doc)
	return doc, err
}

// start gets the masters that the plan asks for. Only when the user did not ask
// for any does a missing server program lead to embedded ones.
func (p *plan) start(ctx context.Context, log io.Writer) (*masters.Set, error) {
	switch p.kind {
	case masters.Given:
		return masters.Use(ctx, p.given)
	case masters.Local:
		set, err := masters.StartLocal(ctx, p.count, redisserver.Options{Programs: p.servers, Args: faults.ServerArgs(p.faults)})
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

func (p *plan) document(set *masters.Set, results []*bench.Result) *result.Document {
	cfg := result.Config{
		Config: p.cfg, Impls: p.impls, Rounds: p.rounds, Reference: p.reference, Command: p.command, Target: string(set.Kind), Server: set.Version,
		MasterTimeout: p.engine.MasterTimeout, NewMasters: p.engine.NewMasters, Fencing: p.engine.Fencing, ProbeEvery: p.probeEvery,
		FaultKinds: p.kinds, History: p.history, Args: p.args,
	}
	for _, addr := range set.Addrs {
		bare := masters.Redact(addr)
		cfg.MastersRedacted = cfg.MastersRedacted || bare != addr
		cfg.Masters = append(cfg.Masters, bare)
	}
	for _, r := range results {
		for i := range r.PerMaster { // where there is a proxy in front, by the master's own name
			r.PerMaster[i].Addr = cfg.Masters[i]
		}
	}
	if p.command == "compare" {
		cfg.Impls = ranked(p.impls, p.reference, results)
	}
	for _, f := range p.faults {
		cfg.Faults = append(cfg.Faults, f.Text)
	}
	for _, o := range p.objectives {
		cfg.SLO = append(cfg.SLO, o.String())
	}
	doc := result.NewDocument(cfg, results)
	return &doc
}
