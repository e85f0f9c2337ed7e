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
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/engine"
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

--recover is for a majority that lost its data: engines and lockbench masters repair
restore a minority. Clients that are running are refused from then on, and have to be
restarted. Every fence will be larger than --above.`,
		Example: `  lockbench masters init --masters a:6379,b:6379,c:6379 --max-ttl 30s
  lockbench masters init --masters a:6379,b:6379,c:6379 --max-ttl 30s --recover --above 1866240000131072`,
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

// config checks what all of them have.
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
	return f.show(cmd)
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
	fmt.Fprintf(cmd.OutOrStdout(), "configure all clients with %s in the place of %s now: those with the old one get no more locks\n%s votes %s after the first of them has met it: lockbench masters repair does, and waits\n",
		with, gone, with, wait(cfg).Round(100*time.Millisecond))
	return nil
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
