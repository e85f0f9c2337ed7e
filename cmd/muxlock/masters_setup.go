package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/address"
	"muxlock/internal/redlock"
	"muxlock/internal/usage"
)

// membersFlags are the flags of muxlock masters init, replace, repair and status.
type membersFlags struct {
	*settings
	recover  bool
	above    uint64
	with     string
	replaced string // --for
	allFence bool
}

func mastersCommand(s *settings) *cobra.Command {
	f := &membersFlags{settings: s}
	cmd := &cobra.Command{
		Use:   "masters",
		Short: "Set masters up for fencing, show, replace and repair the set",
		Long: `Fencing tokens need masters that are members of a set. Init makes the masters a set, once.
You may interrupt any of these commands and run it again.

Exit codes: 0 all masters are admitted members of one set (replace: done; status --wait: all
vote), 1 not all are, or an error, 2 usage, 130 interrupted: nothing is broken.`,
		Args: usage.NoSuchCommand[*cobra.Command],
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().Float64Var(&f.cfg.Drift, "drift", redlock.DefaultDrift, "how far the rates of two clocks may differ, as engine.Config.Drift of all clients")
	cmd.AddCommand(initCommand(f), replaceCommand(f), repairCommand(f), mastersStatusCommand(f))
	return cmd
}

func initCommand(f *membersFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set masters up for fencing, once",
		Long: `Makes the masters members of a set, which engine.Config.Fencing and --fencing need. Init
waits for --max-ttl and a second, because a master may have forgotten a lock just before.
Clients hold and acquire locks meanwhile. With --new-masters init does not wait. If the
set is complete, init does nothing.

Use --recover after a majority lost its data. (Engines and muxlock masters repair restore a
minority.) The set is new: it refuses running clients, so restart them. Every fence will be
larger than --above.`,
		Example: `  muxlock masters init --masters a:6379,b:6379,c:6379 --max-ttl 30s
  muxlock masters init --masters a:6379,b:6379,c:6379 --max-ttl 30s --recover --above 1866240000131072`,
		Args: usage.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.init(cmd) },
	}
	cmd.Flags().BoolVar(&f.recover, "recover", false, "set the masters up again after a majority lost its data")
	cmd.Flags().Uint64Var(&f.above, "above", 0, "with --recover: the largest fence that any resource has seen")
	return cmd
}

func replaceCommand(f *membersFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replace",
		Short: "Put a new master in the place of an old one",
		Long: `Makes the new master a member of the set in the place of the old one. The old master may
be down; all others must be up. From then on, clients configured with the old master get
no more locks, and clients configured with the new one do.`,
		Example: `  muxlock masters replace --masters a:6379,b:6379,c:6379 --max-ttl 30s --with d:6379 --for b:6379 --all-clients-fence`,
		Args:    usage.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.replace(cmd) },
	}
	cmd.Flags().StringVar(&f.with, "with", "", "the new master")
	cmd.Flags().StringVar(&f.replaced, "for", "", "the old master, one of --masters")
	cmd.Flags().BoolVar(&f.allFence, "all-clients-fence", false, "assert that all clients of these masters use fencing: others would go on with the old master, and two may hold a lock")
	return cmd
}

// config returns the settings that matter to the set, as an engine's configuration.
func (f *membersFlags) config() (engine.Config, error) {
	all, err := f.engineConfig()
	cfg := engine.Config{Masters: all.Masters, Client: all.Client, MaxTTL: f.cfg.MaxTTL, MasterTimeout: f.cfg.MasterTimeout, Drift: f.cfg.Drift}
	if !f.flags.Changed("master-timeout") { // no lease runs meanwhile, so a slow master may take its time
		cfg.MasterTimeout = max(time.Millisecond, min(f.cfg.MaxTTL/2, 5*time.Second))
	}
	return cfg, err
}

// wait returns how long a master that may have forgotten a lock has no vote.
func wait(cfg engine.Config) time.Duration {
	return redlock.RestartWait(cfg.MaxTTL, cmp.Or(cfg.Drift, redlock.DefaultDrift))
}

// untilSignal calls do, whose context SIGINT or SIGTERM ends. It turns an error of package admin into the command's exit.
func untilSignal(cmd *cobra.Command, do func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := do(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return usage.Exitf(exitSignal+int(syscall.SIGINT), "interrupted: nothing is broken, run it again")
	case errors.Is(err, admin.ErrMembersLost):
		return fmt.Errorf("%w (--recover --above FENCE)", err)
	}
	return err
}

func (f *membersFlags) init(cmd *cobra.Command) error {
	cfg, err := f.config()
	switch {
	case err != nil:
		return err
	case f.recover != cmd.Flags().Changed("above"):
		return usage.Errorf("--recover and --above need each other: a fence that is not larger than what a resource has seen is refused there")
	case f.recover && f.cfg.MastersAreNew:
		return usage.Errorf("--recover and --new-masters exclude each other")
	}
	late := time.AfterFunc(time.Second, func() {
		if !f.cfg.MastersAreNew {
			say(cmd.ErrOrStderr(), "%s left: the masters are watched; Ctrl-C is safe, run it again then", (wait(cfg) - time.Second).Round(time.Second))
		}
	})
	err = untilSignal(cmd, func(ctx context.Context) error {
		err := admin.SetUp(ctx, cfg, admin.SetUpOptions{MastersAreNew: f.cfg.MastersAreNew, Recover: f.recover, Above: f.above})
		if late.Stop(); err != nil {
			return err
		}
		return f.show(ctx, cmd.OutOrStdout())
	})
	if err != nil || !f.recover {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "restart all processes with fencing that were running: they get no more locks")
	return err
}

func (f *membersFlags) replace(cmd *cobra.Command) error {
	cfg, err := f.config()
	switch {
	case err != nil:
		return err
	case len(cfg.Masters) < 2:
		return usage.Errorf("--masters must be all masters of the set: of one alone nobody knows its fences but itself")
	}
	with, err1 := masterIn("--with", f.with)
	gone, err2 := masterIn("--for", f.replaced)
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	log := cmd.ErrOrStderr()
	if !f.allFence && !(term.IsTerminal(int(os.Stdin.Fd())) && yes(log, "Do all clients of these masters use fencing? [y/N] ")) {
		return usage.Errorf("--all-clients-fence is missing: clients without fencing would go on with %s, and two may hold a lock", gone)
	}
	err = untilSignal(cmd, func(ctx context.Context) error { return admin.ReplaceMaster(ctx, cfg, f.replaced, f.with) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "configure all clients with %s in the place of %s now: those with the old one get no more locks\n%s votes %s after a client first meets it: muxlock masters repair does that, and waits\n",
		with, gone, with, wait(cfg).Round(100*time.Millisecond))
	return err
}

// masterIn returns the address in a flag's value, without credentials.
func masterIn(flag, text string) (string, error) {
	if text == "" {
		return "", usage.Errorf("%s is missing", flag)
	}
	option, err := address.Parse(text, engine.Config{}.Client)
	if err != nil {
		return "", usage.Errorf("%s %w", flag, err)
	}
	return option.InitAddress[0], nil
}
