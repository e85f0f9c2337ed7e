package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkPlaces has eight engines, as of eight processes, that want one name and hold it for 1 ms. Two of them are not
// like the others. It reports how long an acquire waited, in ms: of the six p99; of the two p50, p99 and the longest.
//
//	go test -run '^$' -bench Places -benchtime 5000x ./engine
func BenchmarkPlaces(b *testing.B) {
	acquire := func(ttl time.Duration) func(*Engine) (held, error) {
		return func(e *Engine) (held, error) { return e.Acquire(context.Background(), "name", ttl) }
	}
	set := func(e *Engine) (held, error) {
		return e.AcquireAll(context.Background(), []string{"name", fmt.Sprintf("own %p", e)}, 0)
	}
	for _, two := range []struct {
		name    string
		acquire func(*Engine) (held, error)
		change  func(*Config)
	}{
		{"alike", acquire(0), func(*Config) {}},
		{"ttl=0.3s", acquire(300 * time.Millisecond), func(c *Config) { c.MasterTimeout = 100 * time.Millisecond }},
		{"ttl=20ms", acquire(20 * time.Millisecond), func(c *Config) { c.MasterTimeout = 10 * time.Millisecond }},
		{"attempts=20", acquire(0), func(c *Config) { c.MaxAttempts = 20 }},
		{"set", set, func(*Config) {}},
	} {
		b.Run(two.name, func(b *testing.B) {
			masters := five(b)
			var mu sync.Mutex
			var waits [2][]float64 // of the six, and of the two
			var all sync.WaitGroup
			for i := range 8 {
				e, of, take := open(b, masters), 0, acquire(0)
				if i < 2 {
					e, of, take = open(b, masters, two.change), 1, two.acquire
				}
				all.Go(func() {
					for done := false; !done; {
						begin := time.Now()
						lock, err := take(e)
						waited := time.Since(begin)
						if err == nil {
							time.Sleep(time.Millisecond)
							_ = lock.Release(context.Background()) // a very short lease may have run out
						}
						mu.Lock()
						waits[of] = append(waits[of], waited.Seconds()*1000)
						done = len(waits[0])+len(waits[1]) >= b.N
						mu.Unlock()
					}
				})
			}
			all.Wait()
			at := func(of int, share float64) float64 { return waits[of][int(share*float64(len(waits[of])-1))] }
			for of := range waits {
				require.NotEmpty(b, waits[of])
				slices.Sort(waits[of])
			}
			b.ReportMetric(at(0, 0.99), "six-p99-ms")
			b.ReportMetric(at(1, 0.5), "two-p50-ms")
			b.ReportMetric(at(1, 0.99), "two-p99-ms")
			b.ReportMetric(at(1, 1), "two-max-ms")
		})
	}
}
