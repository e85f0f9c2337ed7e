package bench

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// Meter has the resources that this process has used so far. Two of them bound the measured
// time.
type Meter struct {
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

// ReadMeter stops the world for some tens of microseconds. It uses ReadMemStats, which is
// exact: runtime/metrics counts an object only when its span is full.
func ReadMeter() Meter {
	var m Meter
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

// Since returns the use since an earlier reading. Figures per cycle are 0 without cycles.
func (m Meter) Since(before Meter, cycles int64) Client {
	c := Client{
		GCP99Ns:    quantileSince(m.pauses, before.pauses, 0.99),
		SchedP99Ns: quantileSince(m.ready, before.ready, 0.99),
	}
	if took := m.at.Sub(before.at); took > 0 {
		c.CPUShare = float64(m.cpu-before.cpu) / (float64(took) * float64(runtime.NumCPU()))
	}
	if cycles > 0 {
		c.CPUNsPerOp = float64(m.cpu-before.cpu) / float64(cycles)
		c.AllocsPerOp = float64(m.allocs-before.allocs) / float64(cycles)
	}
	return c
}

// quantileSince returns quantile q of the values between two readings, as the upper bound
// of its bucket in ns; 0 when there are none.
func quantileSince(after, before metrics.Float64Histogram, q float64) int64 {
	var total uint64
	diff := make([]uint64, len(after.Counts))
	for i, n := range after.Counts {
		diff[i] = n
		if i < len(before.Counts) {
			diff[i] -= before.Counts[i]
		}
		total += diff[i]
	}
	if total == 0 {
		return 0
	}
	rank := uint64(math.Ceil(q * float64(total)))
	var seen uint64
	for i, n := range diff {
		if seen += n; seen >= rank {
			bound := after.Buckets[i+1]
			if math.IsInf(bound, 1) {
				bound = after.Buckets[i]
			}
			return int64(bound * 1e9)
		}
	}
	return 0
}
