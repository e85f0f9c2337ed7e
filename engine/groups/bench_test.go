package groups

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/cost"
)

// measure has workers acquire and release names of their own.
func measure(b *testing.B, locks *engine.Engine, servers []*redisserver.Server, workers, n int) cost.Cost {
	return cost.Of(b, servers, workers, n, func(worker int) func() error {
		return func() error {
			lock, err := locks.Acquire(context.Background(), fmt.Sprint("bench/", worker), 0)
			if err != nil {
				return err
			}
			return lock.Release(context.Background())
		}
	})
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
