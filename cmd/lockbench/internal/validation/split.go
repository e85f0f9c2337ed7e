package validation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
	"muxlock/internal/quorum"
)

// Requests are late by a time that all have in common, so that no loser's release is at a
// master before the last of the others' requests, and by one of their own, of a spread
// much longer than callers are apart that begin at once: with a spread of 3 ms the first
// of five to be scheduled won noticeably too often.
const (
	splitBase  = "40ms"
	splitOwn   = "lognormal:20ms,0.4"
	splitPause = 70 * time.Millisecond // after a round, until all of it is over

	splitGroups = 20 // side by side
)

var splitSettings = func() (settings []setting) {
	for _, k := range []int{2, 3, 5} {
		settings = append(settings, setting{
			fmt.Sprintf("%d callers at once, %d masters, requests %s+%s late", k, most, splitBase, splitOwn), 1,
			func(ctx context.Context, o Options) ([]Check, error) {
				split, rounds, err := measureSplit(ctx, k, o)
				return []Check{splitCheck(k, most, split, rounds)}, err
			},
		})
	}
	return settings
}()

func splitCheck(k, masters int, split, rounds int64) Check {
	return Check{
		Formula: "F13", Quantity: "nobody wins", Unit: bench.UnitShare,
		Predicted: exact(sizing.SplitAtOnce(k, masters, quorum.Size(masters))), Measured: share(split, rounds),
	}
}

// measureSplit lets groups of k engines ask for one new name at once, round by round.
func measureSplit(ctx context.Context, k int, o Options) (split, rounds int64, err error) {
	s, err := openSite(ctx, most)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, p := range s.proxies {
		p.DelayRequests(span(splitBase), span(splitOwn))
	}
	if err := s.connect(ctx, k*splitGroups, patient(s.addrs())); err != nil {
		return 0, 0, err
	}
	end := time.Now().Add(o.Length)
	var undecided, all atomic.Int64
	var groups errgroup.Group
	for g := range splitGroups {
		group := s.engines[g*k : (g+1)*k]
		groups.Go(func() error {
			rng := seeded(o.Seed, uint64(g))
			for round := 0; ctx.Err() == nil && time.Now().Before(end); round++ {
				won, err := atOnce(ctx, group, fmt.Sprintf("split%d:%d", g, round))
				if err != nil {
					return err
				}
				all.Add(1)
				if won == 0 {
					undecided.Add(1)
				}
				pause(rng)
			}
			return nil
		})
	}
	err = groups.Wait()
	return undecided.Load(), all.Load(), err
}

func pause(rng *rand.Rand) {
	time.Sleep(splitPause + time.Duration(rng.Int64N(int64(splitPause/4))))
}

// atOnce is one round: how many of the engines got the name in a single attempt. It is
// released when atOnce returns.
func atOnce(ctx context.Context, engines []*engine.Engine, name string) (won int64, err error) {
	var winners atomic.Int64
	var callers errgroup.Group
	begin := make(chan struct{})
	for _, e := range engines {
		callers.Go(func() error {
			<-begin
			lock, err := e.TryAcquire(ctx, name, 0)
			switch {
			case errors.Is(err, engine.ErrTaken):
				return nil
			case err != nil:
				return err
			}
			winners.Add(1)
			return lock.Release(ctx)
		})
	}
	close(begin)
	err = callers.Wait()
	return winners.Load(), err
}
