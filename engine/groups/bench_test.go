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

// BenchmarkFind is what a request costs more than with one engine. A cycle makes three.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{1, 2, 10, 100} {
		b.Run(fmt.Sprintf("groups=%d", n), func(b *testing.B) {
			r := &router{now: groupsOf(n), all: groupsOf(n)}
			b.ReportAllocs()
			for b.Loop() {
				r.Of("invoice:0123456789")
			}
		})
	}
}

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
