package validation

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/engine"
	"muxlock/internal/clock"
	"muxlock/internal/redisserver"
)

const (
	lease = 10 * time.Second // of locks that are not to run out
	most  = 5                // masters of a site
	// patience with a master: none is slow but for this machine's sake, and one that is
	// set aside would end the measurement.
	patience = 1500 * time.Millisecond

	connectAtOnce = 16 // engines; more, and a busy machine answers some of them too late,
	connectTries  = 10 // as it may even so
)

// site is masters on this machine, each behind a proxy of its own that makes it late.
type site struct {
	set     *masters.Set
	line    *faults.Line
	proxies []*faults.Proxy
	engines []*engine.Engine
}

// openSite starts n masters. Close it.
func openSite(ctx context.Context, n int) (*site, error) {
	set, err := masters.StartLocal(ctx, n, redisserver.Options{})
	if err != nil {
		return nil, err
	}
	s := &site{set: set}
	if s.line, err = faults.OpenLine(); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	for _, server := range set.Servers {
		p, err := s.line.Proxy(server.Addr())
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.proxies = append(s.proxies, p)
	}
	return s, nil
}

// addrs lead through the proxies.
func (s *site) addrs() (addrs []string) {
	for _, p := range s.proxies {
		addrs = append(addrs, p.Addr())
	}
	return addrs
}

// patient is the configuration of engines whose masters are never given up.
func patient(addrs []string) engine.Config {
	return engine.Config{Masters: addrs, TTL: lease, MasterTimeout: patience, MastersAreDurable: true}
}

// connect opens n engines more that have no connection in common. No master is restarted:
// one that an engine meets late may vote all the same.
func (s *site) connect(ctx context.Context, n int, cfg engine.Config) error {
	before := len(s.engines)
	s.engines = append(s.engines, make([]*engine.Engine, n)...)
	var all errgroup.Group
	all.SetLimit(connectAtOnce)
	for i := range n {
		all.Go(func() (err error) {
			for range connectTries {
				s.engines[before+i], err = engine.New(ctx, cfg)
				if !errors.Is(err, engine.ErrNoQuorum) || ctx.Err() != nil {
					break
				}
			}
			return err
		})
	}
	return all.Wait()
}

func (s *site) close() error {
	return errors.Join(s.closeEngines(), s.line.Close(), s.set.Close())
}

func (s *site) closeEngines() error {
	var all errgroup.Group
	for _, e := range s.engines {
		if e != nil {
			all.Go(e.Close)
		}
	}
	return all.Wait()
}

// sleep is false when ctx ended first.
func sleep(ctx context.Context, alarms *clock.Alarms, d time.Duration) bool {
	if d > 0 {
		alarms.Sleep(d, clock.NewAlarm(), ctx.Done())
	}
	return ctx.Err() == nil
}

// seeded draws the same for the same seed and stream.
func seeded(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

func span(text string) bench.Span {
	s, err := bench.ParseSpan(text)
	if err != nil {
		panic(err) // it is written below
	}
	return s
}
