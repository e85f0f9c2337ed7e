package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"muxlock/engine"
	"muxlock/internal/usage"
)

func repairCommand(f *membersFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "repair",
		Short: "Admit masters that lost their data, and wait until they vote",
		Long: `Waits until every reachable master of the set votes, and shows the masters as status does.
A master that was restarted or has lost its data does not vote for the set's MaxTTL and a
second; then it gets the fences that the others know. Running clients with fencing do the
same. Clients can acquire locks meanwhile.

If a majority has lost its data, repair ends at once: use muxlock masters init --recover.`,
		Example: `  muxlock masters repair --masters a:6379,b:6379,c:6379`,
		Args:    usage.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return untilSignal(cmd, func(ctx context.Context) error {
				s, err := f.admitAll(ctx, cmd.ErrOrStderr())
				return f.report(cmd.OutOrStdout(), s, err)
			})
		},
	}
}

// admitAll returns the survey in which every reachable member votes, or in which too few members are left to restore the
// others. It only keeps an engine running: the engine admits the members.
func (f *membersFlags) admitAll(ctx context.Context, log io.Writer) (s survey, err error) {
	var e *engine.Engine
	defer func() {
		if e != nil {
			e.Close()
		}
	}()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for said := 0; ; {
		if s, err = f.survey(ctx); err != nil || len(s.lost) == 0 || s.beyondRepair() {
			return s, err
		}
		if e == nil {
			cfg, err := f.config()
			if err != nil {
				return s, err
			}
			cfg.Fencing, cfg.TTL, cfg.MastersAreDurable = true, cfg.MaxTTL, f.cfg.MastersAreDurable
			if e, err = engine.New(ctx, cfg); err != nil {
				return s, err
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return s, ctx.Err()
		}
		switch who, never := whoWaits(e.Stats().Masters, s.lost); {
		case who != "":
			if said++; said%5 == 1 { // every five seconds
				say(log, "%s; Ctrl-C is safe, run it again then", who)
			}
		case never != nil:
			return s, never
		default: // either all are admitted, or this engine has missed a flush, which a new one will see
			e.Close()
			e = nil
		}
	}
}

// whoWaits names those of the lost masters that are not admitted yet, and how long each still waits, or why. never is the
// error of one that the engine will not admit.
func whoWaits(masters []engine.MasterStats, lost []string) (who string, never error) {
	var waits []string
	for _, m := range masters {
		switch err := (engine.MasterError{Master: m.Address, Err: m.Cause}); {
		case m.Cause == nil || !slices.Contains(lost, m.Address):
		case errors.Is(err, engine.ErrConfigMismatch):
			never = err
		case m.VotesFrom.IsZero() || !errors.Is(err, engine.ErrRestarted):
			waits = append(waits, err.Error())
		default:
			waits = append(waits, fmt.Sprintf("%s votes in %s", m.Address, upToSeconds(time.Until(m.VotesFrom))))
		}
	}
	return strings.Join(waits, "; "), never
}
