package bench

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTenThousandWorkersFitIn100MB(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates many workers")
	}
	var calls atomic.Int64
	var peak uint64
	l := slow{acquire: func(context.Context) error {
		if calls.Add(1) == 500 { // all workers stand ready by then
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = m.HeapAlloc + m.StackInuse
		}
		return nil
	}}
	runtime.GC()
	cfg := Config{
		Workers: 10_000, Keys: 1000, Dist: Zipf(0.99), Rate: 5000, Hold: Exp(time.Millisecond),
		Warmup: 300 * time.Millisecond, Duration: 200 * time.Millisecond, TTL: time.Minute, Wait: time.Second,
	}
	_, err := Run(t.Context(), "slow", l, cfg)
	require.NoError(t, err)
	t.Logf("%d MB", peak>>20)
	require.Positive(t, peak)
	require.Less(t, peak, uint64(100<<20))
}

// full is a histogram with something in every part of its range, as no run would fill it.
func full() *Histogram {
	h, r := NewHistogram(), rand.New(rand.NewPCG(1, 2))
	for d := int64(1); d < longest; d += d/500 + 1 {
		h.Record(d, 1+r.Int64N(100_000))
	}
	return h
}

func TestResultOfTenMinutesStaysBelowTwoMegabytes(t *testing.T) {
	s := full().Summary()
	r := &Result{
		Impl: "muxlock", ErrorSamples: []string{},
		Latency: Latencies{
			ResponseTime: s, WaitTime: s, AcquireTime: s, ReleaseTime: s, CycleTime: s, HandoverTime: s, RemoteHandoverTime: s,
			ExtendTime: s, HoldTime: s, UncontendedTime: s, LagTime: s,
		},
	}
	r.Client.Stall = s
	for range 5 {
		r.PerMaster = append(r.PerMaster, Master{Addr: "127.0.0.1:65535", RTT: s})
	}
	for i := range 600 {
		n := int64(1_000_000_000 + i)
		r.Series = append(r.Series, Point{
			TS: float64(n) / 1e6, Cycles: n, Acquired: n, Refused: n, Timeouts: n, Errors: n, P50Ns: n, P99Ns: n,
			MasterNs: []int64{n, n, n, n, n},
		})
	}
	b, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	t.Logf("%d kB", len(b)>>10)
	require.Less(t, len(b), 2<<20)
}

func TestALongRunOfOneProcessIsMergedWithoutHistogramsOfItsSeconds(t *testing.T) {
	const seconds = 600
	part := &Part{Series: make([]Point, seconds)}
	allocs := testing.AllocsPerRun(1, func() { mergeSeries([]*Part{part}) })
	require.Less(t, allocs, 1.1*seconds, "a slice each")
}
