package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/fold"
	"muxlock/internal/probe"
	"muxlock/internal/usage"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	*settings
	output
	length time.Duration
}

func doctorCommand(s *settings) *cobra.Command {
	f := doctorFlags{settings: s}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what makes locks on the masters unsafe or slow",
		Long: `Checks the masters with Check of package engine/admin: identity, replicas and Sentinels,
eviction, persistence, permissions, votes. Then it watches their round trips and clocks.
Run it where you will hold locks.

Doctor changes one key on each master: the engine takes and releases a trial lock with a
random name. The key would expire within two seconds.

Exit codes: 0 nothing worse than WARN, 1 a FAIL or an error, 2 usage.`,
		Example: `  muxlock doctor --masters a:6379,b:6379,c:6379
  muxlock doctor --masters redis://user:secret@a:6379,rediss://b:6380 --for 30s -o json`,
		Args: usage.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().DurationVar(&f.length, "for", 2*time.Second, "how long to watch round trips and clocks")
	f.output.declare(cmd)
	return cmd
}

// diagnosis is the result of doctor, and its JSON.
type diagnosis struct {
	SchemaVersion int             `json:"schema_version"`
	Tool          tool            `json:"tool"`
	Worst         admin.Level     `json:"worst"`
	Findings      []admin.Finding `json:"findings"`
	PerMaster     []probe.Master  `json:"per_master"`
}

func (f *doctorFlags) run(cmd *cobra.Command) error {
	cfg, err := f.engineConfig()
	switch {
	case err != nil:
		return err
	case f.length <= 0:
		return usage.Errorf("--for must be above 0, got %s", f.length)
	}
	report, err := check(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	seen, found, err := probe.Watch(cmd.Context(), cfg.Masters, cfg.Client, f.length)
	if err != nil {
		return err
	}
	report.Add(append(found, judgeProcessors(os.DirFS("/")))...)
	d := diagnosis{SchemaVersion: 1, Tool: thisTool(), Findings: report.Findings, PerMaster: seen}
	for i, f := range d.Findings {
		d.Worst = max(d.Worst, f.Level)
		d.Findings[i].Text = asFlags(plain(f.Text))
	}
	if err := f.write(cmd.OutOrStdout(), d); err != nil {
		return err
	}
	if d.Worst == admin.LevelFail {
		return usage.Exitf(exitRun, "not fit to lock on, see FAIL")
	}
	return nil
}

// check runs admin.Check, or admin.CheckRefused where the masters let no engine start.
func check(ctx context.Context, cfg engine.Config) (admin.Report, error) {
	locks, err := engine.New(ctx, cfg)
	switch {
	case err == nil:
		defer locks.Close()
		return admin.Check(ctx, locks)
	case errors.As(err, new(*engine.StartError)), errors.Is(err, engine.ErrConfigMismatch):
		return admin.CheckRefused(ctx, cfg, err)
	}
	return admin.Report{}, err
}

// throttled matches how often its CPU quota stopped a control group, in the group's cpu.stat.
var throttled = regexp.MustCompile(`(?m)^nr_throttled ([1-9]\d*)$`)

// judgeProcessors judges the processors of this machine, whose file system is root.
func judgeProcessors(root fs.FS) admin.Finding {
	f := admin.Finding{Level: admin.LevelOK, Check: "processors", Text: fmt.Sprintf("%d of %d processors", runtime.GOMAXPROCS(0), runtime.NumCPU())}
	for _, name := range []string{"sys/fs/cgroup/cpu.stat", "sys/fs/cgroup/cpu/cpu.stat"} {
		stat, _ := fs.ReadFile(root, name) // absent: no quota
		if n := throttled.FindSubmatch(stat); n != nil {
			f.Level, f.ToDo = admin.LevelWarn, "raise the CPU limit"
			f.Text += fmt.Sprintf("; its quota stopped this container %s times: a holder that stands still may outlast its lease", n[1])
		}
	}
	return f
}

func (d diagnosis) text(w io.Writer) {
	for i, m := range d.PerMaster {
		fmt.Fprintf(w, "master %d: %s\n", i+1, m.Addr)
	}
	fmt.Fprintln(w)
	count := map[admin.Level]int{}
	var rows [][]string
	for _, f := range slices.SortedStableFunc(slices.Values(d.Findings), func(a, b admin.Finding) int { return cmp.Compare(b.Level, a.Level) }) { // worst first
		count[f.Level]++
		text := f.Text
		if f.ToDo != "" {
			text += " -> " + f.ToDo
		}
		row := []string{f.Level.String(), f.Check, f.Who(len(d.PerMaster))}
		for _, line := range fold.Lines(text, 54, 0, 0) { // the columns before it take the rest of 80
			rows = append(rows, append(row, line))
			row = []string{"", "", ""}
		}
	}
	table(w, rows)
	fmt.Fprintf(w, "\n%d FAIL, %d WARN, %d unknown, %d OK\n", count[admin.LevelFail], count[admin.LevelWarn], count[admin.LevelUnknown], count[admin.LevelOK])
}
