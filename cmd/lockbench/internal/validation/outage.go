package validation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/engine"
	"muxlock/internal/clock"
	"muxlock/internal/redisserver"
	"muxlock/internal/redlock"
)

// outage is met by leases that are renewed. A probe that is as late as patience counts as
// lost, so that an outage is not taken for slow answers, which MasterTimeout would wait for.
var outage = hazard{
	name: "all stop for 600ms, once, under leases that are renewed", masters: 3, loads: []load{{300, "20ms"}},
	stopped: 3, lasts: 600 * time.Millisecond,
	hold: "1m", rto: 5 * time.Second, patience: 100 * time.Millisecond,
}

const (
	keepers   = 32 // engines for each lease, of which each finds its masters again by itself
	keptNames = 6  // of each engine, renewed at different times
	settling  = 300 * time.Millisecond
)

var outageSettings = []setting{{outage.String(), 1, func(ctx context.Context, o Options) ([]Check, error) {
	a, leases, err := outage.advised(ctx, o)
	if err != nil {
		return nil, err
	}
	kept, err := keepThrough(ctx, a.Config, leases)
	return keptChecks(a, kept), err
}}}

// kept is what became of a renewed lease at each engine.
type kept struct {
	ttl  time.Duration
	lost []float64 // shares
}

// keptChecks holds the leases lost to an outage against those predicted (F7). All of one
// engine wait for the same masters to be found again, so that an engine is one sample.
func keptChecks(a *advice.Advice, all []kept) (checks []Check) {
	for _, k := range all {
		for _, s := range a.Outages {
			if s.TTL == int64(k.ttl) {
				checks = append(checks, Check{
					Formula: "F7", Quantity: fmt.Sprintf("renewed lease of %s lost", k.ttl), Unit: bench.UnitShare,
					Predicted: within(s.Least, s.Lost, s.Most), Measured: meanShare(k.lost),
				})
			}
		}
	}
	return checks
}

// meanShare is the mean of independent shares, which spread less than what is either 0 or 1.
func meanShare(samples []float64) Estimate {
	n := int64(len(samples))
	mean := stat.Mean(samples, nil)
	sum := mean * float64(n)
	return Estimate{mean, share(int64(math.Floor(sum)), n).Lo, share(int64(math.Ceil(sum)), n).Hi, n}
}

// keepThrough lets engines renew each of the leases, the longest first, through the outage.
func keepThrough(ctx context.Context, c advice.Config, leases []time.Duration) (all []kept, err error) {
	set, err := masters.StartLocal(ctx, outage.masters, redisserver.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	longest := leases[0]
	from := redlock.RenewalInterval(longest) + settling
	length := from + outage.lasts + longest + settling
	rig, err := faults.NewRig(stops(outage.stopped, window{from, from + outage.lasts}), set.Servers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rig.Close()) }()
	s := &site{set: set}
	defer func() { err = errors.Join(err, s.closeEngines()) }()
	for _, ttl := range leases {
		err := s.connect(ctx, keepers, engine.Config{Masters: set.Addrs, TTL: ttl, MaxTTL: c.MaxTTL, MasterTimeout: c.MasterTimeout, MastersAreDurable: true})
		if err != nil {
			return nil, err
		}
	}
	alarms := clock.NewAlarms()
	defer alarms.Close()
	begin := time.Now()
	end := rig.Begin(begin)
	var running errgroup.Group
	for i, ttl := range leases {
		all = append(all, kept{ttl, make([]float64, keepers)})
		for n, e := range s.engines[i*keepers : (i+1)*keepers] {
			running.Go(func() error {
				phase := time.Duration(float64(n) / (keepers * keptNames) * float64(redlock.RenewalInterval(ttl)))
				lost, err := keep(ctx, alarms, e, fmt.Sprint("kept", i, ":", n), ttl, begin.Add(phase), begin.Add(length))
				all[i].lost[n] = lost
				return err
			})
		}
	}
	err = running.Wait()
	_, faultErr := end()
	return all, errors.Join(err, faultErr)
}

// keep holds names of one engine, each acquired a part of the renewal interval after the
// one before, until a time, and returns the share of them that were lost by then.
func keep(ctx context.Context, alarms *clock.Alarms, e *engine.Engine, prefix string, ttl time.Duration, from, until time.Time) (share float64, err error) {
	var locks []*engine.Lock
	for i := range keptNames {
		if !sleep(ctx, alarms, time.Until(from)) {
			return 0, nil
		}
		from = from.Add(redlock.RenewalInterval(ttl) / keptNames)
		lock, err := e.Acquire(ctx, fmt.Sprint(prefix, ":", i), ttl)
		if err == nil {
			err = lock.KeepAlive(0)
		}
		if err != nil {
			return 0, err
		}
		locks = append(locks, lock)
	}
	sleep(ctx, alarms, time.Until(until))
	for _, lock := range locks {
		if !lock.Valid() {
			share += 1.0 / keptNames
			continue
		}
		_ = lock.Release(context.WithoutCancel(ctx)) // late or not: nobody waits for it
	}
	return min(share, 1), nil
}
