package validation

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/probe"
	"muxlock/cmd/lockbench/internal/procs"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/internal/clock"
	"muxlock/internal/redisserver"
)

const (
	hazardImpl    = "muxlock"
	hazardWorkers = 512
	hazardProbes  = 10 * time.Millisecond // between two, as advise has it
)

// advised is the advice that a measurement under the hazard leads to, as advise is.
func (h hazard) advised(ctx context.Context, o Options) (*advice.Advice, []time.Duration, error) {
	results, err := h.run(ctx, o, advice.Config{}, []time.Duration{lease}, o.Seed)
	if err != nil {
		return nil, nil, err
	}
	return h.advise(bench.RunConfig{Config: h.config(h.loads[0], lease, o, o.Seed)}, results)
}

// measure is one hazard: the measurement, the advice, and the leases under the same again.
func (h hazard) measure(ctx context.Context, o Options) ([]Check, error) {
	a, leases, err := h.advised(ctx, o)
	if err != nil {
		return nil, err
	}
	results, err := h.run(ctx, o, a.Config, leases, o.Seed+1)
	if err != nil {
		return nil, err
	}
	var tolls []toll
	for i, ttl := range leases {
		t := toll{ttl: ttl}
		for _, r := range results[i*len(h.loads) : (i+1)*len(h.loads)] {
			t.lost, t.of = t.lost+r.Totals.LostValidity, t.of+r.Totals.Quorums()
			late, all, err := longer(r.Latency.Acquire, a.Config.MasterTimeout)
			if err != nil {
				return nil, err
			}
			t.late, t.all = t.late+late, t.all+all
		}
		tolls = append(tolls, t)
	}
	return tollChecks(a, tolls), nil
}

// longer is how many of a figure's times are longer than that.
func longer(s *bench.Summary, than time.Duration) (n, all int64, err error) {
	h, err := s.Histogram()
	if err != nil {
		return 0, 0, err
	}
	for ns, count := range h.Bars() {
		if all += count; ns > int64(than) {
			n += count
		}
	}
	return n, all, nil
}

func (h hazard) config(l load, ttl time.Duration, o Options, seed uint64) bench.Config {
	return bench.Config{
		Workers: hazardWorkers, Keys: hazardWorkers, Rate: l.rate, Hold: span(l.hold), TTL: ttl,
		Duration: o.Length, Warmup: 200 * time.Millisecond, Seed: seed, Outages: true,
	}
}

// run lets each of the leases be held under each of the loads, all at once and each by a
// process of its own, on new masters, which are probed. The results are in that order.
func (h hazard) run(ctx context.Context, o Options, c advice.Config, leases []time.Duration, seed uint64) (results []*bench.Result, err error) {
	set, err := masters.StartLocal(ctx, h.masters, redisserver.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	windows := h.windows(o.Length)
	rig, err := faults.NewRig(stops(h.stopped, windows...), set.Servers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rig.Close()) }()
	if h.stopped > 0 {
		windows = nil // it is not the client that stands still
	}
	prober, err := probe.Open(ctx, set.Addrs, probe.Options{Every: hazardProbes, Timeout: h.patience})
	if err != nil {
		return nil, err
	}
	defer prober.Stop() // again; only the first call returns a report

	var configs []bench.Config
	var runners []*procs.Runner
	for _, ttl := range leases {
		for _, l := range h.loads {
			r, err := procs.Open(ctx, hazardImpl, rivals.Options{
				Masters: set.Addrs, TTL: ttl, MaxTTL: max(c.MaxTTL, lease), MasterTimeout: c.MasterTimeout, Workers: hazardWorkers, NewMasters: true,
			}, 1, os.Stderr)
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, r.Close()) }()
			seed++ // nobody in step with another
			configs, runners = append(configs, h.config(l, ttl, o, seed)), append(runners, r)
		}
	}
	end := func() error { return nil }
	configs[0].Begin = func(at time.Time) {
		at = at.Add(configs[0].Warmup)
		prober.Start(at, o.Length)
		endFaults, endPauses := rig.Begin(at), pauses(ctx, runners, at, windows)
		end = func() error { _, err := endFaults(); return errors.Join(err, endPauses()) }
	}
	results = make([]*bench.Result, len(runners))
	all, running := errgroup.WithContext(ctx)
	for i, r := range runners {
		all.Go(func() (err error) {
			results[i], err = r.Run(running, configs[i])
			return err
		})
	}
	err = all.Wait()
	report := prober.Stop()
	if err = errors.Join(err, end()); err == nil {
		report.Into(results[0])
	}
	return results, err
}

// pauses stops and resumes all processes, in windows since start. end, to be called when
// they have nothing more to do, resumes them.
func pauses(ctx context.Context, runners []*procs.Runner, start time.Time, windows []window) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var running errgroup.Group
	running.Go(func() (err error) {
		alarms := clock.NewAlarms()
		defer alarms.Close()
		for _, w := range windows {
			if !sleep(ctx, alarms, time.Until(start.Add(w.from))) {
				break
			}
			for _, r := range runners {
				err = errors.Join(err, r.Pause())
			}
			sleep(ctx, alarms, w.to-w.from) // as long, also when it began late
			for _, r := range runners {
				err = errors.Join(err, r.Resume())
			}
		}
		return err
	})
	return func() error {
		cancel()
		return running.Wait()
	}
}
