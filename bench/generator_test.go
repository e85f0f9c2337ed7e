package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGeneratorAllocatesNothingPerCycle(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates many workers")
	}
	for name, cfg := range map[string]Config{
		"closed":    {},
		"zipf":      {Dist: Zipf(0.99)},
		"hold":      {Hold: Fixed(time.Microsecond)},
		"try":       {Op: Try},
		"open loop": {Rate: 20_000},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Workers, cfg.Keys, cfg.TTL = 4, 100, time.Second
			cfg.Duration, cfg.Warmup = 200*time.Millisecond, 50*time.Millisecond
			r, err := Run(t.Context(), "noop", noop{}, cfg)
			require.NoError(t, err)
			// The run itself allocates some dozens of objects, and has few cycles here.
			require.Less(t, r.Client.AllocsPerOp*float64(r.Latency[CycleTime].Count), 0.01*float64(r.Latency[CycleTime].Count)+150)
			requireJSON(t, r)
		})
	}
}

// BenchmarkCycle measures the generator without a lock.
func BenchmarkCycle(b *testing.B) {
	for name, cfg := range map[string]Config{
		"dist=own":           {},
		"dist=zipf":          {Dist: Zipf(0.99)},
		"dist=own/wait=1s":   {Wait: time.Second},
		"dist=own/loop=open": {Rate: MaxRate},
	} {
		b.Run(name, func(b *testing.B) {
			cfg.Workers, cfg.Keys, cfg.TTL, cfg.Duration = 1, 10_000, time.Second, time.Second
			r := newRunner(b.Context(), "", noop{}, cfg, newTable(cfg), time.Now)
			defer r.release()
			defer r.cancel()
			r.phase.Store(measuring)
			w := r.workers[0]
			b.ReportAllocs()
			for b.Loop() {
				a := w.next(-1)
				a.measured = true
				if r.pacer != nil {
					a.at = r.pacer.sched.next().at
				}
				w.operate(a)
			}
		})
	}
}
