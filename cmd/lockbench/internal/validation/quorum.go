package validation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/probe"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
	"muxlock/internal/quorum"
)

// distance is how late the masters of a setting are. Replies on one connection stay in
// order, so that one close behind a late one is late as well, which is not what a formula
// about single attempts predicts. So there are many connections, each with one thing at
// a time on its way, and pauses longer than any reply.
type distance struct {
	delays  []string // of each master's replies
	pause   time.Duration
	engines int
	probers int
}

// The delays are long for what a machine adds by itself, some tenths of a millisecond, to
// matter little.
var distances = []distance{
	{same("lognormal:10ms,0.5", 5), 60 * time.Millisecond, 32, 8},
	{same("lognormal:10ms,0.5", 3), 60 * time.Millisecond, 32, 8},
	{[]string{"lognormal:5ms,0.2", "lognormal:10ms,0.2", "lognormal:50ms,0.1"}, 90 * time.Millisecond, 44, 16},
}

func same(delay string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = delay
	}
	return all
}

func (d distance) String() string {
	if d.delays[0] == d.delays[1] {
		return fmt.Sprintf("%d masters, each %s late", len(d.delays), d.delays[0])
	}
	return fmt.Sprintf("%d masters, late by %s", len(d.delays), strings.Join(d.delays, " and "))
}

var quorumSettings = func() (settings []setting) {
	for _, d := range distances {
		settings = append(settings, setting{d.String(), 1.5, func(ctx context.Context, o Options) ([]Check, error) {
			rows, took, err := d.measure(ctx, o, func(ctx context.Context, e *engine.Engine, name string) (time.Duration, error) {
				begin := time.Now()
				lock, err := e.Acquire(ctx, name, 0)
				elapsed := time.Since(begin)
				if err != nil {
					return 0, err
				}
				return elapsed, lock.Release(ctx)
			})
			return quorumChecks(rows, took), err
		}})
	}
	return settings
}()

// measure lets each of the engines do attempt again and again, each on a name of its
// own, and probes the masters meanwhile. It returns what the attempts did.
func (d distance) measure(ctx context.Context, o Options, attempt func(ctx context.Context, e *engine.Engine, name string) (time.Duration, error)) (rows sizing.Rows, samples []float64, err error) {
	s, err := openSite(ctx, len(d.delays))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.connect(ctx, d.engines, patient(s.addrs())); err != nil {
		return nil, nil, err
	}
	var probers []*probe.Prober
	for range d.probers {
		p, err := probe.Open(ctx, s.addrs(), probe.Options{})
		if err != nil {
			return nil, nil, err
		}
		defer p.Stop() // again; only the first call returns a report
		probers = append(probers, p)
	}
	for i, p := range s.proxies {
		p.Delay(span(d.delays[i]))
	}

	end := time.Now().Add(o.Length)
	for _, p := range probers {
		p.Start(time.Now(), o.Length)
	}
	var all errgroup.Group
	each := make([][]float64, len(s.engines))
	for i, e := range s.engines {
		all.Go(func() error {
			rng := seeded(o.Seed, uint64(i))
			for ctx.Err() == nil && time.Now().Before(end) {
				// Never in step with another one.
				time.Sleep(d.pause + time.Duration(rng.Int64N(int64(d.pause/4))))
				sample, err := attempt(ctx, e, fmt.Sprint("own", i))
				if err != nil {
					return err
				}
				each[i] = append(each[i], float64(sample))
			}
			return nil
		})
	}
	err = all.Wait()
	var ns [][]int64
	for _, p := range probers {
		ns = append(ns, p.Stop().Probe.Rows...)
	}
	return sizing.NewRows(ns), slices.Concat(each...), err
}

// nearQuorum is what the machine adds to an acquire that no probe has in it.
const nearQuorum = 0.05

// quorumChecks holds the times of acquires against what joint round trips say (F3), and
// against what each master's own say if they were independent (F2), as they are here.
func quorumChecks(rows sizing.Rows, took []float64) (checks []Check) {
	q := quorum.Size(rows.Masters())
	joint := slices.DeleteFunc(rows.QuorumTimes(q), func(t float64) bool { return math.IsInf(t, 0) })
	if len(joint) == 0 {
		return nil
	}
	for _, p := range []struct {
		name string
		p    float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
		measured := quantile(took, p.p)
		check := Check{Quantity: p.name + " of an acquire", Unit: bench.UnitNs, Measured: measured, Tolerance: nearQuorum}
		check.Formula, check.Predicted = "F3", quantile(joint, p.p)
		checks = append(checks, check)
		check.Formula, check.Predicted = "F2", exact(rows.Independent(p.p, q))
		checks = append(checks, check)
	}
	return checks
}
