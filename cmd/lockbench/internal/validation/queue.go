package validation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
	"muxlock/internal/clock"
)

const (
	queueHold  = "lognormal:5ms,0.5"
	queueNames = 16 // side by side, each a queue of its own
	queueParts = 3  // in which a name's waits are taken together, each many times as long as the queue remembers
)

var queueSettings = func() (settings []setting) {
	for _, load := range []float64{0.5, 0.7} {
		settings = append(settings, setting{
			fmt.Sprintf("1 engine, %d masters, Poisson arrivals, hold %s, load %.1f", most, queueHold, load), 1,
			func(ctx context.Context, o Options) ([]Check, error) {
				names, err := measureQueues(ctx, load, o)
				return []Check{queueCheck(names)}, err
			},
		})
	}
	return settings
}()

// queueCheck holds the waits against what the occupation of the names predicts (F11). Waits
// that follow each other are much the same; the means of long parts hardly are.
func queueCheck(names [][]visit) Check {
	var all busy
	var parts []float64
	var arrivals, length float64
	for _, visits := range names {
		b := occupation(visits)
		all.add(b)
		if n := len(b.waits) / queueParts; n > 0 {
			for p := range queueParts {
				parts = append(parts, stat.Mean(b.waits[p*n:(p+1)*n], nil))
			}
			arrivals += float64(len(visits) - 1)
			length += visits[len(visits)-1].came - visits[0].came
		}
	}
	c := Check{Formula: "F11", Quantity: "mean wait in line", Unit: bench.UnitNs, Measured: mean(parts).withSamples(len(all.waits))}
	if length > 0 {
		s := all.occupied
		q := sizing.Queue{Lambda: arrivals / length, Service: [2]float64{stat.Mean(s, nil), stat.MomentAbout(2, s, 0, nil)}}
		c.Predicted = exact(q.MeanWait())
	}
	return c
}

// measureQueues lets callers come to each of the names, a goroutine each, whoever is
// there already.
func measureQueues(ctx context.Context, load float64, o Options) (names [][]visit, err error) {
	hold := span(queueHold)
	s, err := openSite(ctx, most)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.connect(ctx, 1, patient(s.set.Addrs)); err != nil {
		return nil, err
	}
	alarms := clock.NewAlarms()
	defer alarms.Close()
	names = make([][]visit, queueNames)
	var all errgroup.Group
	begin := time.Now()
	for i := range names {
		var mu sync.Mutex
		note := func(v visit) {
			mu.Lock()
			names[i] = append(names[i], v)
			mu.Unlock()
		}
		draw := hold.Sampler(o.Seed, uint64(i))
		between := bench.Exp(time.Duration(float64(hold.Mean())/load)).Sampler(o.Seed, uint64(queueNames+i))
		all.Go(func() error {
			for due := between(); due < o.Length; due += between() {
				if !sleep(ctx, alarms, due-time.Since(begin)) {
					return nil
				}
				length := draw()
				all.Go(func() error {
					return stay(ctx, s.engines[0], fmt.Sprint("queue", i), begin, length, alarms, note)
				})
			}
			return nil
		})
	}
	return names, all.Wait()
}

// stay is one visit.
func stay(ctx context.Context, e *engine.Engine, name string, begin time.Time, hold time.Duration, alarms *clock.Alarms, note func(visit)) error {
	came := time.Since(begin)
	lock, err := e.Acquire(ctx, name, 0)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	got := time.Since(begin)
	sleep(ctx, alarms, hold)
	note(visit{float64(came), float64(got), float64(time.Since(begin))})
	return lock.Release(context.WithoutCancel(ctx))
}
