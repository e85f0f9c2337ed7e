package procs

import (
	"maps"
	"slices"
	"sync"
	"time"

	"muxlock/bench"
)

// progress merges the reports of all processes about the same second. Its times count from the start of the measured
// time; those of the warm-up are negative.
type progress struct {
	bench.Config

	mu   sync.Mutex      // guards the following, and Progress
	last []time.Duration // of the latest report, by process
	seen map[time.Duration]bench.Progress
}

func newProgress(procs int, cfg bench.Config) *progress {
	return &progress{Config: cfg, last: slices.Repeat([]time.Duration{-cfg.Warmup - 1}, procs), seen: map[time.Duration]bench.Progress{}}
}

// add shows a second when every process has reported it or a later one, with the worst p99 of them. One that is
// killed or stopped may never report a second.
func (g *progress) add(number int, p bench.Progress) {
	if g.Progress == nil || p.Elapsed > 0 && p.Point.TS == 0 { // the last report is about no second
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	when := p.Elapsed
	if p.Warmup {
		when -= g.Warmup
	}
	g.last[number] = when
	if sum, ok := g.seen[when]; ok {
		p.Point.Add(sum.Point)
		p.Point.P99Ns = max(p.Point.P99Ns, sum.Point.P99Ns)
	}
	g.seen[when] = p
	for _, when := range slices.Sorted(maps.Keys(g.seen)) {
		if when > slices.Min(g.last) {
			return
		}
		g.Progress(g.seen[when])
		delete(g.seen, when)
	}
}
