package bench

import "time"

// An arrival is one operation of an open loop. In a closed loop a worker makes its own.
type arrival struct {
	at       int64 // intended start, ns on the run's clock; below 0: a closed loop
	key      int   // -1: the worker's own
	op       opKind
	hold     time.Duration // how long to hold the lock
	measured bool          // due in the measured time
	lag      int64         // how long it was due while a worker stood ready for it
}

// waited is how long it was due at begin; below 0 in a closed loop.
func (a arrival) waited(begin int64) int64 {
	if a.at < 0 {
		return -1
	}
	return begin - a.at
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
	hold    Span
	holds   rng
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
		hold:    cfg.Hold,
		holds:   newRNG(cfg.Seed, cfg.stream(streamArrivalHolds)),
		at:      gap * float64(cfg.proc) / float64(cfg.procs()), // processes take turns
	}
}

func (s *schedule) next() arrival {
	if s.poisson {
		s.at += s.gap * s.rng.exp()
	} else {
		s.at += s.gap
	}
	return arrival{at: int64(s.at), key: s.keys.next(), op: s.op.draw(&s.ops), hold: s.hold.draw(&s.holds)}
}

// Random streams of one seed. Worker i has streamWorkers + i, streamSpans + i and
// streamOps + i.
const (
	streamArrivals = iota
	streamArrivalKeys
	streamArrivalOps
	streamReference
	streamArrivalHolds
	streamWorkers
	streamSpans = 1 << 30
	streamOps   = 1 << 31
	streamsEach = 1 << 32 // process
)
