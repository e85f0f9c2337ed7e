package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastrand"

	"muxlock/internal/redlock"
	"muxlock/internal/testing/redistest"
)

// BenchmarkPermits has 64 engines share 32 permits on five masters of this machine: with 16 holders at a time on average, and
// with twice as many callers as permits. attempts/op is how often the masters were asked for a permit, ideal is the share
// of the rate at which holders that never wait would have them.
//
//	go test -run '^$' -bench Permits -benchtime 2000x ./engine
func BenchmarkPermits(b *testing.B) {
	const engines, limit, hold = 64, 32, 200 * time.Millisecond
	for load, think := range map[string]time.Duration{"half": 3 * hold, "twice": 0} {
		b.Run(fmt.Sprintf("limit=%d/engines=%d/load=%s", limit, engines, load), func(b *testing.B) {
			masters := redistest.Masters(b, 5)
			var all []*Engine
			for range engines {
				all = append(all, open(b, masters))
			}
			around := func(d time.Duration) time.Duration { return redlock.Jitter(d/2, d/2*3, fastrand.Uint32n) }
			var running sync.WaitGroup
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			start := time.Now()
			var held time.Duration
			var mu sync.Mutex
			for _, e := range all {
				running.Go(func() {
					for left.Add(-1) >= 0 {
						time.Sleep(around(think))
						l, err := e.AcquirePermit(b.Context(), "permits", limit, 0)
						require.NoError(b, err)
						since := time.Now()
						time.Sleep(around(hold))
						mu.Lock()
						held += time.Since(since)
						mu.Unlock()
						require.NoError(b, l.Release(b.Context()))
					}
				})
			}
			running.Wait()
			took := time.Since(start)
			var attempts, acquired, splits uint64
			for _, e := range all {
				s := e.Stats()
				attempts += s.Acquired + s.Taken + s.SplitVotes + s.NoQuorum + s.Expired
				acquired, splits = acquired+s.Acquired, splits+s.SplitVotes
			}
			b.ReportMetric(float64(attempts)/float64(acquired), "attempts/op")
			b.ReportMetric(float64(splits)/float64(acquired), "splits/op")
			b.ReportMetric(float64(held)/float64(took)/min(limit, float64(engines*hold)/float64(hold+think)), "ideal")
		})
	}
}
