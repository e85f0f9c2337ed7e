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

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/internal/redisserver"
)

// mastersFlags is the command line of masters.
type mastersFlags struct {
	flags
	length time.Duration
}

func mastersCommand() *cobra.Command {
	var f mastersFlags
	cmd := &cobra.Command{
		Use:   "masters",
		Short: "Start servers to lock on, until Ctrl-C",
		Long: `Starts servers on free ports of this machine and prints their addresses, for --masters,
as one line on standard output. They stop at Ctrl-C, or after --for. Whoever locks on them
should say that they are new: --new-masters, or engine.Config.MastersAreNew. For locks with
fencing tokens set them up first: muxlock masters init --new-masters.`,
		Example: `  lockbench masters --local 3
  lockbench masters --local 3 --fault delay:1:1ms --fault delay:2:2ms --fault delay:3:20ms`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd) },
	}
	load := f.others(cmd.Name())
	load.Flags().Lookup("fault").Usage = "make one look distant, may be repeated: delay:K:20ms or delay:K:lognormal(5ms,1) (late replies)"
	borrow(cmd, load, "local", "server", "fault")
	declare(cmd, ofLoad, func(fs *pflag.FlagSet) {
		fs.DurationVar(&f.length, "for", 0, "stop them after this time; 0 = at Ctrl-C")
	})
	return cmd
}

// check finds what is wrong with the command line.
func (f *mastersFlags) check(cmd *cobra.Command) (*plan, error) {
	p := &plan{cfg: bench.Config{Duration: time.Hour}}
	set := cmd.Flags().Changed
	if err := cmp.Or(f.planMasters(p, set), f.planFaults(p, set)); err != nil {
		return nil, err
	}
	if f.length < 0 {
		return nil, usagef("--for must not be negative, got %s", f.length)
	}
	for _, fault := range p.faults {
		if fault.Kind != faults.Delay || !fault.Whole {
			return nil, usagef("--fault %s: only a delay without times makes sense here", fault.Text)
		}
	}
	return p, nil
}

func (f *mastersFlags) serve(cmd *cobra.Command) (err error) {
	p, err := f.check(cmd)
	if err != nil {
		return err
	}
	ctx, log := cmd.Context(), cmd.ErrOrStderr()
	set, err := masters.StartLocal(ctx, p.count, redisserver.Options{Programs: p.servers})
	if err != nil {
		return interruptedOr(ctx, err)
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	rig, err := faults.NewRig(p.faults, set.Servers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rig.Close()) }()

	addrs := rig.Addrs()
	for i, addr := range addrs {
		fmt.Fprintf(log, "master %d: %s, %s, process %d", i+1, addr, set.Version, set.Servers[i].PID())
		if addr != set.Addrs[i] {
			fmt.Fprintf(log, ", through a proxy to %s", set.Addrs[i])
		}
		fmt.Fprintln(log)
	}
	line := strings.Join(addrs, ",")
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
		return err
	}
	fmt.Fprintf(log, "lockbench run --new-masters --masters %s\n", line)
	if f.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.length)
		defer cancel()
	}
	<-ctx.Done()
	return nil
}
