package procs

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"muxlock/bench"
)

// progress merges the reports of all processes about the same second.
type progress struct {
	show func(bench.Progress) // may be nil

	mu   sync.Mutex // guards the following, and show
	last []moment   // of the latest report, by process
	seen map[moment]bench.Progress
}

type moment struct {
	measured bool // not in the warm-up
	at       time.Duration
}

func (m moment) compare(to moment) int {
	if m.measured != to.measured {
		return map[bool]int{false: -1, true: 1}[m.measured]
	}
	return cmp.Compare(m.at, to.at)
}

func newProgress(procs int, show func(bench.Progress)) *progress {
	return &progress{show: show, last: make([]moment, procs), seen: map[moment]bench.Progress{}}
}

// add shows a second when every process has reported it or a later one, with the worst p99 of them. One that is
// killed or stopped may never report a second.
func (g *progress) add(number int, p bench.Progress) {
	if g.show == nil || p.Elapsed > 0 && p.Point.TS == 0 { // the last report is about no second
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	when := moment{!p.Warmup, p.Elapsed}
	g.last[number] = when
	if sum, ok := g.seen[when]; ok {
		p.Point.Add(sum.Point)
		p.Point.P99Ns = max(p.Point.P99Ns, sum.Point.P99Ns)
	}
	g.seen[when] = p
	over := slices.MinFunc(g.last, moment.compare)
	for _, when := range slices.SortedFunc(maps.Keys(g.seen), moment.compare) {
		if when.compare(over) > 0 {
			return
		}
		g.show(g.seen[when])
		delete(g.seen, when)
	}
}
