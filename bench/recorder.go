package bench

import (
	"runtime"
	"slices"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of every histogram, in ns; what lies outside is counted at its edge.
const (
	shortest = 1
	longest  = 60_000_000_000
	digits   = 3
)

// shardsMost bounds the memory on large machines: a shard takes 0.7 to 0.9 MB.
// Shards, not a histogram per worker: ten thousand of those would take 8 GB.
const shardsMost = 64

// counts of operations that ended.
type counts struct{ ended, acquired, refused, timeouts, errors, cycles int64 }

func (c *counts) add(d counts) {
	c.ended += d.ended
	c.acquired += d.acquired
	c.refused += d.refused
	c.timeouts += d.timeouts
	c.errors += d.errors
	c.cycles += d.cycles
}

// hists are the histograms of a shard or of a run.
type hists struct {
	response *hdrhistogram.Histogram // nil in a closed loop
	acquire  *hdrhistogram.Histogram
	release  *hdrhistogram.Histogram
	cycle    *hdrhistogram.Histogram
}

func newHists(open bool) hists {
	h := hists{acquire: newHist(), release: newHist(), cycle: newHist()}
	if open {
		h.response = newHist()
	}
	return h
}

func newHist() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }

func (h hists) headline() *hdrhistogram.Histogram {
	if h.response != nil {
		return h.response
	}
	return h.cycle
}

func (h hists) each(g hists, do func(into, from *hdrhistogram.Histogram)) {
	do(h.acquire, g.acquire)
	do(h.release, g.release)
	do(h.cycle, g.cycle)
	if h.response != nil {
		do(h.response, g.response)
	}
}

func put(h *hdrhistogram.Histogram, ns int64) {
	_ = h.RecordValue(min(max(ns, shortest), longest)) // cannot fail within the range
}

// shard is where a few workers write down their operations: one lock per
// operation, held for some tens of ns.
type shard struct {
	mu     sync.Mutex // guards the following
	counts counts
	hists  hists
	_      [40]byte // the next shard's lock is another core's
}

// acquiredLocked writes an acquire that got its lock; response below 0: none.
func (s *shard) acquiredLocked(response, acquire int64) {
	s.counts.ended++
	s.counts.acquired++
	put(s.hists.acquire, acquire)
	if response >= 0 {
		put(s.hists.response, response)
	}
}

// cycleLocked writes a release that returned without error.
func (s *shard) cycleLocked(acquire, release int64) {
	s.counts.cycles++
	put(s.hists.release, release)
	put(s.hists.cycle, acquire+release)
}

// recorder owns the shards. Once a second, and at both ends of the measured time, rotate empties them.
type recorder struct {
	shards   []shard
	spare    hists // empty; owned by rotate, as are the following
	interval *hdrhistogram.Histogram
	total    hists
	counts   counts
}

// newRecorder makes 4 shards per processor, fewer for few workers.
func newRecorder(workers int, open bool) *recorder {
	r := &recorder{
		shards:   make([]shard, min(runtime.GOMAXPROCS(0), shardsMost, workers)),
		spare:    newHists(open),
		interval: newHist(),
		total:    newHists(open),
	}
	for i := range r.shards {
		r.shards[i].hists = newHists(open)
	}
	return r
}

func (r *recorder) shard(worker int) *shard { return &r.shards[worker%len(r.shards)] }

// rotate takes what the shards hold, adds it to the totals and returns it as a
// Point. A shard is locked only for the exchange of its histograms.
func (r *recorder) rotate() Point {
	var c counts
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		got := s.counts
		s.counts = counts{}
		full := s.hists
		s.hists = r.spare
		s.mu.Unlock()

		c.add(got)
		r.interval.Merge(full.headline())
		r.total.each(full, func(into, from *hdrhistogram.Histogram) {
			into.Merge(from)
			from.Reset()
		})
		r.spare = full
	}
	r.counts.add(c)
	p := Point{
		Cycles:   c.cycles,
		Acquired: c.acquired,
		Refused:  c.refused,
		Timeouts: c.timeouts,
		Errors:   c.errors,
	}
	if r.interval.TotalCount() > 0 {
		p.P50Ns = r.interval.ValueAtPercentile(50)
		p.P99Ns = r.interval.ValueAtPercentile(99)
		r.interval.Reset()
	}
	return p
}

// late is how many operations ended after the last rotate.
func (r *recorder) late() int64 {
	var n int64
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		n += s.counts.ended
		s.mu.Unlock()
	}
	return n
}

// forget empties everything: the warm-up is over.
func (r *recorder) forget() {
	r.rotate()
	r.total.each(r.total, func(h, _ *hdrhistogram.Histogram) { h.Reset() })
	r.counts = counts{}
}

// summarize puts a histogram in figures; zeros when it is empty.
func summarize(h *hdrhistogram.Histogram) *Summary {
	s := &Summary{Unit: "ns", Count: h.TotalCount(), P: map[string]int64{}}
	if s.Count > 0 {
		s.Min, s.Mean, s.Max = h.Min(), h.Mean(), h.Max()
	}
	for _, p := range percentiles {
		s.P[p.name] = 0
		if s.Count > 0 {
			s.P[p.name] = h.ValueAtPercentile(p.value)
		}
	}
	return s
}

var percentiles = []struct {
	name  string
	value float64
}{{"50", 50}, {"90", 90}, {"99", 99}, {"99.9", 99.9}, {"99.99", 99.99}}

// samples keeps the first few distinct error texts. Looking is limited to once a
// millisecond, so that a flood of errors costs nothing.
type samples struct {
	mu    sync.Mutex // guards the following
	texts []string
	next  int64 // not before, on the run's clock
}

const (
	samplesMost = 5
	sampleBytes = 300
	sampleEvery = 1_000_000
)

func (s *samples) add(now int64, call string, err error) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if len(s.texts) == samplesMost || now < s.next {
		return
	}
	s.next = now + sampleEvery
	text := call + ": " + err.Error()
	if len(text) > sampleBytes {
		text = text[:sampleBytes] + "..."
	}
	if !slices.Contains(s.texts, text) {
		s.texts = append(s.texts, text)
	}
}

// jain is Jain's index of fairness (Jain, Chiu, Hawe 1984); 0 when all are 0.
func jain(shares []int64) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}
