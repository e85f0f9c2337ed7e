package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/text"
	"muxlock/cmd/lockbench/internal/view"
	"muxlock/engine"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
)

// membersFlags is the command line of what sets masters up for fencing, changes the set or
// shows it.
type membersFlags struct {
	flags
	recover  bool
	above    uint64
	with     string
	replaced string // --for
	allFence bool
}

// declare gives a command the flags that all have, and those of targets and locks that are named.
func (f *membersFlags) declare(cmd *cobra.Command, names ...string) {
	load := f.others(cmd.Name())
	load.Flags().Lookup("masters").Usage = "the masters of the set: host:port, redis://, rediss://, unix://, separated by commas"
	load.Flags().Lookup("new-masters").Usage = "they have never granted a lock, so that there is nothing to wait for; if that is wrong, two may hold a lock"
	preset(load, "max-ttl", redlock.DefaultMaxTTL.String())
	load.Flags().Lookup("max-ttl").Usage = "engine.Config.MaxTTL of all clients: the longest lease that any of them may ask for"
	load.Flags().Lookup("drift").Usage += ", as engine.Config.Drift; 0 = its default"
	borrow(cmd, load, append([]string{"masters"}, names...)...)
}

func initCommand() *cobra.Command {
	var f membersFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set masters up for fencing, once",
		Long: `Makes masters members of a set, which engine.Config.Fencing and --fencing need. It
watches them for --max-ttl and a second, because one may have forgotten a lock just
before; locks are held and acquired meanwhile. It may be cut anywhere and run again,
and does nothing where all is set up.

--recover is for a majority that lost its data: engines restore a minority by
themselves. Clients that are running are refused from then on, and have to be
restarted. Every fence will be larger than --above.`,
		Example: `  lockbench masters init --masters a:6379,b:6379,c:6379 --max-ttl 30s
  lockbench masters init --masters a:6379,b:6379,c:6379 --max-ttl 30s --recover --above 1310720`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.init(cmd) },
	}
	f.declare(cmd, "new-masters", "max-ttl", "drift")
	declare(cmd, ofTarget, func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.recover, "recover", false, "set them up again: a majority lost its data")
		fs.Uint64Var(&f.above, "above", 0, "with --recover: the largest fence that any resource has seen")
	})
	return cmd
}

func replaceCommand() *cobra.Command {
	var f membersFlags
	cmd := &cobra.Command{
		Use:   "replace",
		Short: "Put a master in the place of another",
		Long: `Makes a master a member of the set in the place of another, which may be down; all
others must be up. Clients that have the old one get no more locks from then on, and
those with the new one serve at once. It may be cut anywhere and run again.`,
		Example: `  lockbench masters replace --masters a:6379,b:6379,c:6379 --max-ttl 30s --with d:6379 --for b:6379 --all-clients-fence`,
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.replace(cmd) },
	}
	f.declare(cmd, "max-ttl", "drift")
	declare(cmd, ofTarget, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.with, "with", "", "the master that comes")
		fs.StringVar(&f.replaced, "for", "", "the one of --masters that goes")
		fs.BoolVar(&f.allFence, "all-clients-fence", false, "all clients of these masters use fencing; those that do not would go on with the old one, and two may hold a lock")
	})
	return cmd
}

func statusCommand() *cobra.Command {
	var f membersFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show of which set masters are members, and whether they vote",
		Long: `Asks each master of which set it is a member, and whether it is admitted, so that it
votes. Nothing is changed.

Exit codes: 0 all are admitted members of one set, 1 not all are.`,
		Example: `  lockbench masters status --masters a:6379,b:6379,c:6379`,
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.status(cmd) },
	}
	f.declare(cmd, "output")
	return cmd
}

// config checks what all three have.
func (f *membersFlags) config() (cfg engine.Config, err error) {
	switch {
	case f.masters == "":
		return cfg, usagef("--masters is missing")
	case f.engine.MaxTTL < shortestLease:
		return cfg, usagef("--max-ttl must be at least %s, got %s", shortestLease, f.engine.MaxTTL)
	case f.engine.Drift < 0 || f.engine.Drift >= 0.5:
		return cfg, usagef("--drift must be from 0 to below 0.5, got %v", f.engine.Drift)
	}
	if cfg.Masters, err = masters.Parse(f.masters); err != nil {
		return cfg, usagef("--masters: %w", err)
	}
	cfg.MaxTTL, cfg.Drift, cfg.MasterTimeout = f.engine.MaxTTL, f.engine.Drift, rivals.Patience(f.engine.MaxTTL, f.engine.Drift)
	return cfg, nil
}

// wait is for how long masters are watched before they vote.
func wait(cfg engine.Config) time.Duration {
	return redlock.RestartWait(cfg.MaxTTL, cmp.Or(cfg.Drift, redlock.DefaultDrift))
}

func (f *membersFlags) init(cmd *cobra.Command) error {
	cfg, err := f.config()
	set := cmd.Flags().Changed
	switch {
	case err != nil:
		return err
	case f.recover != set("above"):
		return usagef("--recover and --above need each other: a fence that is not larger than what a resource has seen is refused there")
	case f.recover && f.engine.NewMasters:
		return usagef("--recover and --new-masters exclude each other")
	}
	ctx, log := cmd.Context(), cmd.ErrOrStderr()
	stop := countDown(log, wait(cfg))
	err = engine.SetUp(ctx, cfg, engine.SetUpOptions{MastersAreNew: f.engine.NewMasters, Recover: f.recover, Above: f.above})
	stop()
	if err != nil {
		return changeFailed(ctx, err)
	}
	return f.show(cmd, cfg)
}

func (f *membersFlags) replace(cmd *cobra.Command) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	if len(cfg.Masters) < 2 {
		return usagef("--masters must be all masters of the set: of one alone nobody knows its fences but itself")
	}
	for name, addr := range map[string]string{"with": f.with, "for": f.replaced} {
		if addr == "" {
			return usagef("--%s is missing", name)
		}
		if _, err := masters.Option(addr); err != nil {
			return usagef("--%s: %w", name, err)
		}
	}
	ctx, log := cmd.Context(), cmd.ErrOrStderr()
	if !f.allFence && !yes(ctx, log, "Do all clients of these masters use fencing? [y/N] ") {
		return usagef("--all-clients-fence is missing: clients without fencing would go on with %s, and two may hold a lock", masters.Redact(f.replaced))
	}
	if err := engine.ReplaceMaster(ctx, cfg, f.replaced, f.with); err != nil {
		return changeFailed(ctx, err)
	}
	with, gone := masters.Redact(f.with), masters.Redact(f.replaced)
	fmt.Fprintf(cmd.OutOrStdout(), "configure all clients with %s in the place of %s now: those with the old one get no more locks\n%s votes %s after the first of them has met it\n",
		with, gone, with, wait(cfg).Round(100*time.Millisecond))
	return nil
}

func (f *membersFlags) status(cmd *cobra.Command) error {
	cfg, err := f.config()
	if err == nil {
		err = f.outputs.check(few)
	}
	if err != nil {
		return err
	}
	return f.show(cmd, cfg)
}

// member is a line of status, and its JSON.
type member struct {
	Address    string        `json:"address"`
	Set        string        `json:"set"` // its ID; empty: none
	Generation int           `json:"generation"`
	MaxTTL     time.Duration `json:"max_ttl_ns"`
	Members    []string      `json:"members"`
	Admitted   bool          `json:"admitted"`
	State      string        `json:"state"` // admitted, or why not
}

// show writes what the masters are members of. The error is that not all are admitted.
func (f *membersFlags) show(cmd *cobra.Command, cfg engine.Config) error {
	found, err := engine.Members(cmd.Context(), cfg)
	if err != nil {
		return changeFailed(cmd.Context(), err)
	}
	lines, set, left := states(found)
	w := cmd.OutOrStdout()
	if f.format == "json" {
		err = result.JSON(w, struct {
			SchemaVersion int        `json:"schema_version"`
			Tool          bench.Tool `json:"tool"`
			OK            bool       `json:"ok"`
			Masters       []member   `json:"masters"`
		}{bench.SchemaVersion, bench.CurrentTool(), left == 0, lines})
	} else {
		err = text.Write(w, view.Page{Body: membersShown(lines, set, left)}, onTerminal(w))
	}
	switch {
	case err != nil:
		return writeError(err)
	case left > 0:
		return verdict{exitRun, fmt.Sprintf("%d of %d masters are not admitted members of one set", left, len(lines))}
	}
	return nil
}

// states is what each master is, and of which set; left is how many do not vote, or are of another.
func states(found []engine.Member) (lines []member, set []string, left int) {
	addrs, latest := make([]string, len(found)), found[0].Set // latest is of the first set that is found
	for i, m := range found {
		addrs[i] = m.Address
		if latest.ID == "" || m.Set.ID == latest.ID && m.Set.Generation > latest.Generation {
			latest = m.Set
		}
	}
	kept := 0 // have the set's data
	for _, m := range found {
		if m.Set.ID == latest.ID {
			kept++
		}
	}
	for _, m := range found {
		line := member{m.Address, m.Set.ID, m.Set.Generation, m.Set.MaxTTL, append([]string{}, m.Set.Members...), m.Admitted, "admitted"}
		ok := false
		switch {
		case m.Err != nil:
			line.State = "cannot be asked: " + m.Err.Error()
		case latest.ID == "":
			line.State = "not set up: lockbench masters init"
		case !slices.Contains(latest.Members, m.Address):
			line.State = "is no master of the set"
		case m.Set.ID == "" && latest.Generation > 0 && kept < quorum.Size(len(latest.Members)):
			line.State = "lost its data, like too many: lockbench masters init --recover --above FENCE"
		case m.Set.ID == "":
			line.State = "is new, or lost its data: engines of the set admit it"
		case m.Set.ID != latest.ID:
			line.State = "member of another set"
		case m.Set.Generation < latest.Generation:
			line.State = "a change was cut: run it again"
		case m.Set.Generation == 0:
			line.State = "setting up was cut: run lockbench masters init again"
		case !m.Admitted:
			line.State = "was restarted: engines of the set admit it"
		case m.Set.Matches(m.Set.MaxTTL, addrs) != nil:
			line.State = "admitted, but --masters names others"
		default:
			ok = true
		}
		if !ok {
			left++
		}
		lines = append(lines, line)
	}
	return lines, latest.Members, left
}

func membersShown(lines []member, set []string, left int) (b view.Blocks) {
	t := view.Table{Columns: []view.Column{{Name: "master", Left: true}, {Name: "set", Left: true}, {Name: "generation"}, {Name: "MaxTTL"}, {Left: true}}}
	for _, m := range lines {
		row := []view.Cell{{Text: m.Address}, {Text: "-"}, {Text: "-"}, {Text: "-"}, {Text: m.State}}
		if m.Set != "" {
			row[1].Text, row[2].Text, row[3].Text = m.Set, strconv.Itoa(m.Generation), m.MaxTTL.String()
		}
		t.Rows = append(t.Rows, row)
	}
	b.Table(t)
	switch {
	case left == 0:
		b.Line("all %d masters are admitted members of one set", len(lines))
	case len(set) > 0:
		b.Line("masters of the set: %s", strings.Join(set, ","))
	}
	return b
}

// changeFailed is how an error of the engine ends a command.
func changeFailed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return verdict{exitInterrupted, "interrupted: nothing is broken, run it again"}
	case errors.Is(err, engine.ErrInvalid):
		return usageError{err}
	case errors.Is(err, engine.ErrMembersLost):
		return fmt.Errorf("%w (--recover --above FENCE)", err)
	}
	return err
}

// countDown says on w how long is left, from the second second on, until stop is called.
func countDown(w io.Writer, length time.Duration) (stop func()) {
	begin, format, every := time.Now(), "%s left: the masters are watched; Ctrl-C is safe, run it again then\n", 5
	if onTerminal(w) {
		format, every = "\r\x1b[K"+strings.TrimSuffix(format, "\n"), 1
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-ticker.C:
				if n%every == 0 {
					fmt.Fprintf(w, format, max(length-time.Since(begin), 0).Round(time.Second))
				}
			case <-end:
				if n > 0 && every == 1 {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// yes asks a person; where there is none, it is no.
func yes(ctx context.Context, w io.Writer, question string) bool {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return false
	}
	fmt.Fprint(w, question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // what could not be read is no
		answer <- line
	}()
	select {
	case line := <-answer:
		return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line)))
	case <-ctx.Done():
		return false
	}
}
