package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/internal/usage"
)

func (c commands) masters() *cobra.Command {
	var f plan.Flags
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "masters",
		Short: "Start servers to lock on, until Ctrl-C",
		Long: `Starts servers on free ports of this machine. Standard output gets their addresses in
one line, for --masters. The servers stop at Ctrl-C, or after --for. Tell a client that they
are new: --new-masters, or engine.Config.MastersAreNew. For locks with fencing tokens, set
them up first: muxlock masters init --new-masters.`,
		Example: `  lockbench masters --local 3
  lockbench masters --local 3 --fault delay:1:1ms --fault delay:2:2ms --fault delay:3:20ms`,
		Args: usage.NoSuchCommand[*cobra.Command],
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serveMasters(cmd, &f, length) },
	}
	load := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Declare(load, "muxlock", 1)
	load.Lookup("fault").Usage = "make one look distant, may be repeated: delay:K:20ms or delay:K:lognormal(5ms,1) (late replies)"
	plan.Borrow(cmd.Flags(), load, "local", "server", "fault")
	plan.Declare(cmd.Flags(), plan.OfLoad, func(fs *pflag.FlagSet) {
		fs.DurationVar(&length, "for", 0, "stop them after this time; 0 = at Ctrl-C")
	})
	return cmd
}

func (c commands) serveMasters(cmd *cobra.Command, f *plan.Flags, length time.Duration) (err error) {
	p, err := f.MastersAlone()
	if err != nil {
		return err
	}
	err = usage.Refuse(length < 0, "--for must not be negative, got %s", length)
	for _, fault := range p.Faults {
		still := fault.Kind == faults.Delay && fault.Whole
		err = cmp.Or(err, usage.Refuse(!still, "--fault %s: only a delay without times makes sense here", fault.Text))
	}
	if err != nil {
		return err
	}
	p.Masters.Chosen = true // no embedded ones: other processes lock on them
	ctx, log := cmd.Context(), cmd.ErrOrStderr()
	s, err := c.open(ctx, p, log)
	if err != nil {
		return interruptedOr(ctx, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i, addr := range s.Addrs {
		fmt.Fprintf(log, "master %d: %s, %s, process %d", i+1, addr, s.Set.Version, s.Set.Servers[i].PID())
		if addr != s.Set.Addrs[i] {
			fmt.Fprintf(log, ", through a proxy to %s", s.Set.Addrs[i])
		}
		fmt.Fprintln(log)
	}
	line := strings.Join(s.Addrs, ",")
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
		return err
	}
	fmt.Fprintf(log, "lockbench run --new-masters --masters %s\n", line)
	if length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, length)
		defer cancel()
	}
	<-ctx.Done()
	return nil
}
