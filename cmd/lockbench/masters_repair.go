package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"muxlock/engine"
)

func repairCommand() *cobra.Command {
	var f membersFlags
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Admit masters that lost their data, and wait until they vote",
		Long: `Waits until all masters of a set vote that can be reached, and shows them as status does.
One that was restarted or has lost its data has no vote for the set's MaxTTL and a second;
then it gets the fences that the others know. Clients with fencing do the same while they
run, and locks can be had meanwhile. It may be cut anywhere and run again.

Where a majority has lost its data it ends at once: lockbench masters init --recover.

Exit codes: 0 all vote, 1 not all do.`,
		Example: `  lockbench masters repair --masters a:6379,b:6379,c:6379`,
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.repair(cmd) },
	}
	f.declare(cmd, "drift")
	return cmd
}

func (f *membersFlags) repair(cmd *cobra.Command) error {
	ctx := cmd.Context()
	line := waitLine{w: cmd.ErrOrStderr()}
	err := f.admitAll(ctx, &line)
	line.end()
	if err != nil {
		return changeFailed(ctx, err)
	}
	return f.show(cmd)
}

// admitAll returns when all members vote that can be asked, or too few are left to restore the
// others. Engines do that: all that it takes is one that runs.
func (f *membersFlags) admitAll(ctx context.Context, line *waitLine) error {
	var e *engine.Engine
	defer func() {
		if e != nil {
			e.Close()
		}
	}()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		s, err := f.survey(ctx)
		if err != nil || s.lost == 0 || s.beyondRepair() {
			return err
		}
		if e == nil {
			if e, err = f.engineOf(ctx); err != nil {
				return err
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if who := whoWaits(e.Stats().Masters); who != "" {
			line.say("%s", who)
		} else { // all are admitted by now, or one was flushed unnoticed, which the next engine sees
			e.Close()
			e = nil
		}
	}
}

// engineOf returns an engine on the masters, with the set's MaxTTL.
func (f *membersFlags) engineOf(ctx context.Context) (*engine.Engine, error) {
	cfg, err := f.config()
	if err != nil {
		return nil, err
	}
	cfg.Fencing, cfg.TTL = true, cfg.MaxTTL
	return engine.New(ctx, cfg)
}

// whoWaits is the masters that are about to be admitted, and for how long they wait.
func whoWaits(masters []engine.MasterStats) string {
	var waits []string
	for _, m := range masters {
		switch {
		case !errors.Is(m.Cause, engine.ErrRestarted):
		case m.VotesFrom.IsZero():
			waits = append(waits, engine.MasterError{Master: m.Address, Err: m.Cause}.Error())
		default:
			waits = append(waits, fmt.Sprintf("%s votes in %s", m.Address, upToSeconds(time.Until(m.VotesFrom))))
		}
	}
	return strings.Join(waits, "; ")
}
