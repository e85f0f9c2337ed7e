package bench

import "sync"

// An arrival is one operation of an open loop.
type arrival struct {
	at       int64 // intended start, ns on the run's clock
	key      int   // -1: the worker's own
	op       opKind
	measured bool // due in the measured time
}

// schedule is the endless sequence of arrivals that a seed stands for, a process's
// share of them. It is pure: no clock, the same values for the same Config, whoever
// takes them.
type schedule struct {
	gap     float64 // mean, ns
	poisson bool
	rng     rng
	keys    keyGen
	op      Op
	ops     rng
	at      float64
}

func newSchedule(cfg Config, z *zipf) *schedule {
	gap := 1e9 * float64(cfg.procs()) / cfg.Rate
	return &schedule{
		gap:     gap,
		poisson: cfg.Arrivals != Even,
		rng:     newRNG(cfg.Seed, cfg.stream(streamArrivals)),
		keys:    newKeyGen(cfg, z, streamArrivalKeys, -1),
		op:      cfg.Op,
		ops:     newRNG(cfg.Seed, cfg.stream(streamArrivalOps)),
		at:      gap * float64(cfg.proc) / float64(cfg.procs()), // processes take turns
	}
}

func (s *schedule) next() arrival {
	if s.poisson {
		s.at += s.gap * s.rng.exp()
	} else {
		s.at += s.gap
	}
	return arrival{at: int64(s.at), key: s.keys.next(), op: s.op.draw(&s.ops)}
}

// Random streams of one seed. Worker i has streamWorkers + i, streamSpans + i and
// streamOps + i.
const (
	streamArrivals = iota
	streamArrivalKeys
	streamArrivalOps
	streamReference
	streamWorkers
	streamSpans = 1 << 30
	streamOps   = 1 << 31
	streamsEach = 1 << 32 // process
)

// pacer hands arrivals to workers. There is no dispatcher and no timer per
// arrival: a worker that becomes free takes the next arrival itself if it is due,
// without any wake-up; otherwise it queues for the baton, and only the one who has
// the baton sleeps until the next arrival, takes it, and passes the baton on.
// Arrivals that find nobody free stay in the schedule, where their age counts as
// waiting: nothing is dropped.
type pacer struct {
	now   func() int64
	sleep *sleeper      // owned by who has the baton
	baton chan struct{} // one token

	mu       sync.Mutex // guards the following
	sched    *schedule
	ahead    arrival // next to be taken
	from     int64   // begin of the measured time, once open
	length   int64   // planned length of the measured time
	open     bool
	closed   bool
	taken    int64
	lagSum   [lagParts]int64 // of arrivals taken in each part of the measured time
	lagCount [lagParts]int64
}

// lagParts is in how many parts the measured time is cut to see a backlog grow.
const lagParts = 10

func newPacer(cfg Config, z *zipf, now func() int64, sleep *sleeper) *pacer {
	p := &pacer{
		now:    now,
		sleep:  sleep,
		baton:  make(chan struct{}, 1),
		sched:  newSchedule(cfg, z),
		length: int64(cfg.Duration),
	}
	p.ahead = p.sched.next()
	p.baton <- struct{}{}
	return p
}

// next waits for an arrival; false when the run is over.
func (p *pacer) next() (arrival, bool) {
	a, wait := p.take()
	if wait == 0 {
		return a, true
	}
	<-p.baton
	defer func() { p.baton <- struct{}{} }()
	for {
		a, wait := p.take()
		switch {
		case wait < 0:
			return a, false
		case wait == 0:
			return a, true
		}
		p.sleep.nap(wait)
	}
}

// take is the next arrival when it is due, else how long until then, -1 when the
// run is over.
func (p *pacer) take() (arrival, int64) {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return arrival{}, -1
	}
	a := p.ahead
	if a.at > now {
		return a, a.at - now
	}
	p.ahead = p.sched.next()
	if p.open {
		a.measured = true
		p.taken++
		part := min((now-p.from)*lagParts/p.length, lagParts-1)
		p.lagSum[part] += now - a.at
		p.lagCount[part]++
	}
	return a, 0
}

// begin starts the measured time. What the warm-up left waiting is forgotten:
// it belongs to no figure and would stand before those that do.
func (p *pacer) begin(now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.ahead.at < now {
		p.ahead = p.sched.next()
	}
	p.from, p.open = now, true
}

// end stops the arrivals. Who sleeps is woken by the sleeper's stop channel, not
// from here. It returns how many arrivals of the measured time were due and how many were
// taken, and whether those that waited did so longer and longer.
func (p *pacer) end(now int64) (offered, started int64, growing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if !p.open {
		return 0, 0, false
	}
	offered = p.taken
	for ; p.ahead.at < now; p.ahead = p.sched.next() {
		offered++
	}
	return offered, p.taken, p.growing()
}

// growing compares the mean lag (due to started) of the last part with the
// first three and the middle. A stall that was worked off leaves the last part
// small; a rate just above what the lock can do makes it the largest.
func (p *pacer) growing() bool {
	mean := func(from, to int) float64 {
		var sum, n int64
		for i := from; i < to; i++ {
			sum, n = sum+p.lagSum[i], n+p.lagCount[i]
		}
		return float64(sum) / float64(max(n, 1))
	}
	last := mean(lagParts-1, lagParts)
	return last > backlogFloor && last > 2*mean(0, 3) && last > mean(4, 7)
}

// backlogFloor is the lag that is never called a backlog, 10 ms.
const backlogFloor = 10e6
