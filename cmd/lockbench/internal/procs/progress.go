package procs

import (
	"sync"
	"time"

	"muxlock/bench"
)

// progress merges the reports of all processes about the same second.
type progress struct {
	name  string
	procs int
	show  func(bench.Progress) // may be nil

	mu   sync.Mutex // guards the following, and show
	seen map[moment]*gathered
}

type moment struct {
	warmup bool
	at     time.Duration
}

type gathered struct {
	bench.Progress
	count int
}

func newProgress(name string, procs int, show func(bench.Progress)) *progress {
	return &progress{name: name, procs: procs, show: show, seen: map[moment]*gathered{}}
}

// add shows a second when the last process has reported it, with the worst p99 of them.
func (g *progress) add(p bench.Progress) {
	if g.show == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	when := moment{p.Warmup, p.Elapsed}
	sum := g.seen[when]
	if sum == nil {
		sum = &gathered{Progress: p}
		g.seen[when] = sum
	} else {
		sum.Point.Add(p.Point)
		sum.Point.P99Ns = max(sum.Point.P99Ns, p.Point.P99Ns)
	}
	if sum.count++; sum.count == g.procs {
		delete(g.seen, when)
		g.show(sum.Progress)
	}
}

func (g *progress) finish(cfg bench.Config, res *bench.Result) {
	if g.show != nil {
		g.show(bench.Progress{
			Impl: g.name, Round: 1, Elapsed: time.Duration(res.DurationS * 1e9), Total: cfg.Duration, Result: res,
		})
	}
}
