package main

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/doctor"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/text"
	"muxlock/cmd/lockbench/internal/view"
	"muxlock/internal/findings"
	"muxlock/internal/redisserver"
	"muxlock/internal/redlock"
)

// doctorFlags is the command line of doctor.
type doctorFlags struct {
	flags
	watch time.Duration
}

func doctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what makes locks on given masters unsafe or slow",
		Long: `Looks at masters, and at this machine, for what makes locks unsafe or slow: who they
are, replicas and Sentinels, eviction, persistence, permissions, round trips, clocks.

Nothing is changed on them but one key each, of a random name, which the engine's own
trial lock takes and releases, and which would expire within two seconds.

Exit codes: 0 nothing worse than WARN, 1 something is FAIL.`,
		Example: `  lockbench doctor --masters a:6379,b:6379,c:6379
  lockbench doctor --masters redis://user:secret@a:6379,rediss://b:6380 --for 30s -o json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.examine(cmd) },
	}
	load := f.others(cmd.Name())
	borrow(cmd, load, "masters", "local", "new-masters")
	declare(cmd, ofLoad, func(fs *pflag.FlagSet) {
		fs.DurationVar(&f.watch, "for", 2*time.Second, "how long to watch round trips and clocks")
	})
	borrow(cmd, load, "max-ttl", "output")
	preset(cmd, "max-ttl", redlock.DefaultMaxTTL.String())
	cmd.Flags().Lookup("max-ttl").Usage = "MaxTTL of those who will lock: how long a restarted master casts no vote"
	return cmd
}

// check finds what is wrong with the command line.
func (f *doctorFlags) check(cmd *cobra.Command) (*plan, error) {
	p := &plan{}
	switch err := f.planMasters(p, cmd.Flags().Changed); {
	case err != nil:
		return nil, err
	case f.watch <= 0:
		return nil, usagef("--for must be above 0, got %s", f.watch)
	case f.engine.MaxTTL < time.Millisecond:
		return nil, usagef("--max-ttl must be at least 1ms, got %s", f.engine.MaxTTL)
	}
	return p, f.outputs.check(few)
}

func (f *doctorFlags) examine(cmd *cobra.Command) (err error) {
	p, err := f.check(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	addrs, options := p.given, doctor.Options{For: f.watch, MaxTTL: f.engine.MaxTTL, New: f.engine.NewMasters}
	if p.kind == masters.Local {
		set, err := masters.StartLocal(ctx, p.count, redisserver.Options{})
		if err != nil {
			return interruptedOr(ctx, err)
		}
		defer func() { err = errors.Join(err, set.Close()) }()
		addrs, options.New = set.Addrs, true
	}
	report, err := doctor.Examine(ctx, addrs, options)
	if err != nil {
		return interruptedOr(ctx, err)
	}
	if err := f.write(cmd.OutOrStdout(), report); err != nil {
		return err
	}
	if findings.Worst(report.Findings) == findings.Fail {
		return verdict{exitRun, "not fit to lock on, see FAIL"}
	}
	return nil
}

func (f *doctorFlags) write(w io.Writer, r *doctor.Report) error {
	if f.format == "json" {
		return result.JSON(w, struct {
			SchemaVersion int            `json:"schema_version"`
			Tool          bench.Tool     `json:"tool"`
			Worst         findings.Level `json:"worst"`
			*doctor.Report
		}{bench.SchemaVersion, bench.CurrentTool(), findings.Worst(r.Findings), r})
	}
	var shown view.Blocks
	for i, m := range r.PerMaster {
		shown.Line("master %d: %s", i+1, m.Addr)
	}
	shown.Line("")
	table := view.Table{Columns: slices.Repeat([]view.Column{{Left: true}}, 4)}
	found := slices.Clone(r.Findings)
	slices.SortStableFunc(found, func(a, b findings.Finding) int { return cmp.Compare(b.Level, a.Level) }) // what is worst first
	count := map[findings.Level]int{}
	for _, g := range found {
		count[g.Level]++
		what := g.Text
		if g.ToDo != "" {
			what += " -> " + g.ToDo
		}
		table.Rows = append(table.Rows, []view.Cell{{Text: g.Level.String()}, {Text: g.Check}, {Text: g.Who(len(r.PerMaster))}, {Text: what}})
	}
	shown.Table(table)
	shown.Line("\n%d FAIL, %d WARN, %d ?, %d OK", count[findings.Fail], count[findings.Warn], count[findings.Unknown], count[findings.OK])
	return text.Write(w, view.Page{Body: shown}, onTerminal(w))
}
