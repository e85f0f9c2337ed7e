package bench

import (
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// memory is what the live heap and the stacks take.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func TestTenThousandWorkersStayBelowHundredMegabytes(t *testing.T) {
	before, during := memory(), int64(0)
	cfg := Config{
		Workers: 10_000, Keys: 1000, Dist: Zipf(0.99), Rate: 10_000, Duration: time.Second, TTL: time.Minute, Wait: time.Second,
		Hold: Exp(time.Millisecond), Op: mixOf(t, "mix:acquire-release=9,extend=1"),
	}
	cfg.Progress = func(Progress) { during = memory() } // once, while all that the run has is still in use
	_, err := Run(t.Context(), "test", Noop{}, cfg)
	require.NoError(t, err)
	t.Logf("%d MB", (during-before)>>20)
	require.Less(t, during-before, int64(70<<20), "which the collector may let grow before it frees")
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
			Response: s, Wait: s, Service: s, Acquire: s, Release: s, Cycle: s, Handover: s, HandoverRemote: s,
			Extend: s, Hold: s, Uncontended: s, Lag: s,
		},
	}
	r.Client.Stall = s
	for range 5 {
		r.PerMaster = append(r.PerMaster, Master{Addr: "127.0.0.1:65535", RTT: s})
	}
	for i := range 600 {
		n := int64(1_000_000_000 + i)
		r.Series = append(r.Series, Point{
			TS: float64(n) / 1e6, Cycles: n, Acquired: n, Refused: n, Timeouts: n, Errors: n, P50Ns: n, P99Ns: n, Dropped: n,
			MasterNs: []int64{n, n, n, n, n},
		})
	}
	b, err := json.MarshalIndent(NewDocument(RunConfig{}, []*Result{r}), "", "  ")
	require.NoError(t, err)
	t.Logf("%d kB", len(b)>>10)
	require.Less(t, len(b), 2<<20)
}
