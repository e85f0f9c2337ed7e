package bench

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// meter has the resources that this process has used so far. Two of them bound the measured
// time.
type meter struct {
	at     time.Time
	cpu    time.Duration
	allocs uint64
	pauses metrics.Float64Histogram // of the garbage collector
	ready  metrics.Float64Histogram // times that goroutines stood ready to run
}

const (
	pausesMetric = "/sched/pauses/total/gc:seconds"
	readyMetric  = "/sched/latencies:seconds"
)

// readMeter stops the world for some tens of microseconds. It uses ReadMemStats, which is
// exact: runtime/metrics counts an object only when its span is full.
func readMeter() meter {
	var m meter
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	m.allocs = mem.Mallocs
	sample := []metrics.Sample{{Name: pausesMetric}, {Name: readyMetric}}
	metrics.Read(sample)
	for i, into := range []*metrics.Float64Histogram{&m.pauses, &m.ready} {
		if sample[i].Value.Kind() == metrics.KindFloat64Histogram {
			*into = *sample[i].Value.Float64Histogram()
		}
	}
	m.at, m.cpu = time.Now(), cpuTime()
	return m
}

// since puts the use since an earlier reading into f; what is per cycle later is a total.
func (m meter) since(before meter, f *figures) {
	cpu, took := float64(m.cpu-before.cpu), float64(m.at.Sub(before.at))
	f.Client = Client{
		CPUNsPerOp:  cpu,
		AllocsPerOp: float64(m.allocs - before.allocs),
		CPUShare:    cpu / max(took, 1) / float64(runtime.NumCPU()),
	}
	f.Pauses, f.Ready = most(p99Since(m.pauses, before.pauses)), most(p99Since(m.ready, before.ready))
}

// perCycle divides the totals of c. They are 0 without cycles.
func (c *Client) perCycle(cycles int64) {
	if cycles == 0 {
		c.CPUNsPerOp, c.AllocsPerOp = 0, 0
		return
	}
	c.CPUNsPerOp /= float64(cycles)
	c.AllocsPerOp /= float64(cycles)
}

// p99Since returns the p99 of the values between two readings, by the upper bounds of their
// buckets, in ns; 0 when there are none.
func p99Since(after, before metrics.Float64Histogram) int64 {
	h := NewHistogram()
	for i, n := range after.Counts {
		if i < len(before.Counts) {
			n -= before.Counts[i]
		}
		bound := after.Buckets[i+1]
		if math.IsInf(bound, 1) {
			bound = after.Buckets[i]
		}
		if n > 0 {
			h.Record(int64(bound*1e9), int64(n))
		}
	}
	return h.Percentile(99)
}
