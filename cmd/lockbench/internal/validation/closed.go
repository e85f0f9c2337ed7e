package validation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/clock"
)

const (
	closedHold  = "exp:1ms" // the formula is exact for exponential times
	closedThink = "exp:5ms"
	closedNames = 4 // side by side
	closedParts = 8 // of the time, in each of which visits are counted

	nearRate = 0.05 // what the occupation and the pauses leave out of a visit, and by chance
)

var closedSettings = func() (settings []setting) {
	for _, k := range []int{1, 4, 16} {
		settings = append(settings, setting{
			fmt.Sprintf("1 engine, %d masters, %d workers, hold %s, think %s", most, k, closedHold, closedThink), 0.5,
			func(ctx context.Context, o Options) ([]Check, error) {
				names, thinks, err := measureClosed(ctx, k, o)
				return []Check{closedCheck(k, names, thinks, o.Length)}, err
			},
		})
	}
	return settings
}()

// closedCheck holds the rate of each name against what its occupation and the workers'
// pauses say (F12).
func closedCheck(k int, names [][]visit, thinks []float64, length time.Duration) Check {
	var all busy
	var rates []float64
	part := float64(length) / closedParts
	for _, visits := range names {
		all.add(occupation(visits))
		counts := make([]float64, closedParts)
		for _, v := range visits {
			if i := int(v.got / part); i < closedParts {
				counts[i]++
			}
		}
		for _, n := range counts {
			rates = append(rates, n/part*1e9)
		}
	}
	rate, _ := sizing.ClosedLoop(stat.Mean(all.occupied, nil), stat.Mean(thinks, nil), k)
	if math.IsNaN(rate) {
		rate = 0 // nobody did anything
	}
	return Check{Formula: "F12", Quantity: "rate of one name", Unit: PerSecond, Predicted: exact(rate * 1e9), Measured: mean(rates).withSamples(len(all.waits)), Tolerance: nearRate}
}

// measureClosed lets k workers come again and again to each of the names. A worker's
// pause is all between two of its visits, the release included.
func measureClosed(ctx context.Context, k int, o Options) (names [][]visit, thinks []float64, err error) {
	s, err := openSite(ctx, most)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.connect(ctx, 1, patient(s.set.Addrs)); err != nil {
		return nil, nil, err
	}
	alarms := clock.NewAlarms()
	defer alarms.Close()
	var mu sync.Mutex
	var all errgroup.Group
	names = make([][]visit, closedNames)
	begin := time.Now()
	for i := range names {
		for w := range k {
			worker := uint64(i*k + w)
			hold, think := span(closedHold).Sampler(o.Seed, 2*worker), span(closedThink).Sampler(o.Seed, 2*worker+1)
			all.Go(func() error {
				var mine []visit
				for time.Since(begin) < o.Length && sleep(ctx, alarms, think()) {
					err := stay(ctx, s.engines[0], fmt.Sprint("closed", i), begin, hold(), alarms, func(v visit) { mine = append(mine, v) })
					if err != nil {
						return err
					}
				}
				mu.Lock()
				defer mu.Unlock()
				names[i] = append(names[i], mine...)
				for j := 1; j < len(mine); j++ {
					thinks = append(thinks, mine[j].came-mine[j-1].left)
				}
				return nil
			})
		}
	}
	err = all.Wait()
	return names, thinks, err
}
