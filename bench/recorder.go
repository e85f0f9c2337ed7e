package bench

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// shardsMost bounds the memory on large machines: a shard and its spare take 1.4 to 4 MB. Workers share
// shards, since the histograms of ten thousand workers would take 8 GB.
const shardsMost = 64

// shard counts the operations of a few workers. Each operation takes the mutex once, for some
// tens of ns.
type shard struct {
	mu     sync.Mutex // guards the following
	counts Totals
	cycles int64
	hists  hists
	spare  hists    // empty until swap; owned by the caller of swap
	_      [56]byte // no cache line shared with the next shard's mutex
}

func (s *shard) record(t Timing, ns int64) {
	s.mu.Lock()
	s.hists[t].Record(ns, 1)
	s.mu.Unlock()
}

// operation describes an operation that got its lock; times are in ns.
type operation struct {
	acquire  int64
	wait     int64 // below 0: a closed loop
	lag      int64
	handover int64 // below 0: the lock was free
	used     int64 // of its validity, when Acquire returned; below 0: unknown
	remote   bool  // the hand-over was from another process
	fence    uint64
	names    int64 // op many only
	fences   int64 // op all and many only

	hold, release int64
	cut           bool // the end of the drain ended the hold
	outlived      bool
	warm          bool // the warm-up's: acquired in it or, in an open loop, due in it. No count has it
}

// acquired counts an acquire that got its lock.
func (s *shard) acquired(g *operation) {
	s.mu.Lock()
	s.acquiredLocked(g)
	s.mu.Unlock()
}

func (s *shard) acquiredLocked(g *operation) {
	s.counts.Finished++
	s.counts.Acquired++
	s.counts.Names += g.names
	if g.fence > 0 {
		s.counts.Fenced++
		s.counts.Fences += g.fences
	}
	s.hists[AcquireTime].Record(g.acquire, 1)
	if g.wait >= 0 {
		s.hists[ResponseTime].Record(g.wait+g.acquire, 1)
		s.hists[WaitTime].Record(g.wait, 1)
		s.hists[LagTime].Record(g.lag, 1)
	}
	if g.used >= 0 {
		s.hists[ValidityUsedTime].Record(g.used, 1)
	}
	switch {
	case g.handover < 0:
	case g.remote:
		s.hists[RemoteHandoverTime].Record(g.handover, 1)
	default:
		s.hists[HandoverTime].Record(g.handover, 1)
	}
}

// ended counts the outcome of an operation without a lock. response is the time that it had been due; below 0: in a closed
// loop, or it has not failed.
func (s *shard) ended(c Totals, response int64) {
	s.mu.Lock()
	s.counts.Finished += c.Finished
	s.counts.Unfinished += c.Unfinished
	s.counts.Failed += c.Failed
	s.counts.Refused += c.Refused
	s.counts.Timeouts += c.Timeouts
	s.counts.Errors += c.Errors
	if response >= 0 {
		s.hists[ResponseTime].RecordAtLeast(response, 1)
	}
	s.mu.Unlock()
}

// releasedLocked counts a hold and its release; err is the error of Release or Extend. A hold
// that was cut off is censored, and its operation is no cycle. One from the warm-up counts as
// a cycle alone, since Acquired lacks it. Without such cycles the first seconds would seem
// slow: for the length of a hold, nothing would end.
func (s *shard) releasedLocked(l *operation, err error) {
	switch h := s.hists[HoldTime]; {
	case h == nil || l.warm:
	case l.cut:
		h.RecordAtLeast(l.hold, 1)
	default:
		h.Record(l.hold, 1)
	}
	switch {
	case l.cut:
	case err == nil:
		s.cycles++
		s.hists[ReleaseTime].Record(l.release, 1)
		s.hists[CycleTime].Record(l.acquire+l.release, 1)
	case !l.warm:
		s.counts.Errors++
	}
	if l.outlived && !l.warm {
		s.counts.Outlived++
	}
}

// recorder owns the shards. swap empties them once a second, at both ends of the measured
// time and after the drain.
type recorder struct {
	shards   []shard
	interval *Histogram // owned by the caller of swap, as are the following
	total    hists
	counts   Totals // without the counts of the pacer
	cycles   int64
	encode   bool // Points carry their histograms, to be merged with other processes'
}

// newRecorder makes a shard per processor, or fewer for few workers.
func newRecorder(cfg Config) *recorder {
	r := &recorder{
		shards:   make([]shard, min(runtime.GOMAXPROCS(0), shardsMost, cfg.Workers)),
		interval: NewHistogram(),
		total:    newHists(cfg),
		encode:   cfg.procs() > 1,
	}
	for i := range r.shards {
		r.shards[i].hists, r.shards[i].spare = newHists(cfg), newHists(cfg)
	}
	return r
}

func (r *recorder) shard(worker int) *shard { return &r.shards[worker%len(r.shards)] }

// neverBegun counts an arrival that no worker began.
func (r *recorder) neverBegun(response int64) {
	r.shard(0).ended(Totals{Unfinished: 1, Failed: 1}, response)
}

// swap empties the shards, all within microseconds. It leaves their histograms in their spares.
func (r *recorder) swap() (c Totals, cycles int64) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		add(&c, s.counts)
		cycles += s.cycles
		s.counts, s.cycles = Totals{}, 0
		s.hists, s.spare = s.spare, s.hists
		s.mu.Unlock()
	}
	return c, cycles
}

// rotate swaps, adds what it got to the totals, and returns it as a Point.
func (r *recorder) rotate() Point {
	c, cycles := r.swap()
	for i := range r.shards {
		full := &r.shards[i].spare
		r.interval.Merge(cmp.Or(full[ResponseTime], full[CycleTime])) // as Result.Headline
		for t, h := range full {
			if h != nil {
				r.total[t].Merge(h)
			}
		}
		full.reset()
	}
	add(&r.counts, c)
	r.cycles += cycles
	p := Point{
		Cycles:     cycles,
		Acquired:   c.Acquired,
		Refused:    c.Refused,
		Timeouts:   c.Timeouts,
		Errors:     c.Errors,
		Unfinished: c.Unfinished,
	}
	p.percentiles(r.interval)
	if r.encode {
		p.Latency, _ = r.interval.MarshalText() // cannot fail
	}
	r.interval.reset()
	return p
}

// forget drops what was counted until the last swap: the warm-up is over.
func (r *recorder) forget() {
	for i := range r.shards {
		r.shards[i].spare.reset()
	}
	r.total.reset()
	r.counts, r.cycles = Totals{}, 0
}

// samples keeps the first few distinct error texts. It looks at one error a millisecond at
// most, so that a flood of errors costs little.
type samples struct {
	mu    sync.Mutex // guards the following
	texts []string
	next  int64  // ignore errors until then, on the run's clock
	why   string // longest error text of an acquire cut off by its timeout or the end of the run
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
	if now >= s.next {
		s.next = now + sampleEvery
		s.keep(clipped(call + ": " + err.Error()))
	}
}

// vain receives the error of an acquire cut off by its timeout or, if ended, by the end of
// the run. It keeps the longest text: shorter ones only say that another caller was asking.
func (s *samples) vain(now int64, ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now < s.next && !ended || err == context.Canceled || err == context.DeadlineExceeded { // bare: no cause is joined to them
		return
	}
	s.next = now + sampleEvery
	if text := clipped(strings.ReplaceAll(err.Error(), "\n", "; ")); len(text) > len(s.why) {
		s.why = text
	}
}

func clipped(text string) string {
	if len(text) > sampleBytes {
		return text[:sampleBytes] + "..."
	}
	return text
}

func (s *samples) keep(text string) {
	if len(s.texts) < samplesMost && !slices.Contains(s.texts, text) {
		s.texts = append(s.texts, text)
	}
}

// Jain returns Jain's index of fairness (Jain, Chiu, Hawe 1984); 0 when all shares are 0.
func Jain(shares []int64) float64 {
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
