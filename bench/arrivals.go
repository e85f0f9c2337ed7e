package bench

import (
	"math/rand/v2"
	"time"
)

// An arrival is one operation. An open loop draws it from the schedule; in a closed loop
// the worker makes its own.
type arrival struct {
	at       int64 // intended start, ns on the run's clock; below 0 in a closed loop
	key      int   // -1: the worker's own name
	op       opKind
	hold     time.Duration // how long to hold the lock
	measured bool          // due in the measured time
	lag      int64         // time it was due while a worker stood ready for it
}

// waited returns how long a had been due at begin; below 0 in a closed loop.
func (a arrival) waited(begin int64) int64 {
	if a.at < 0 {
		return -1
	}
	return begin - a.at
}

// schedule is one process's endless sequence of arrivals. It is pure: it reads no clock,
// and the same Config gives the same sequence.
type schedule struct {
	gap     float64 // mean, ns
	poisson bool
	gaps    *rand.Rand
	keys    keyGen
	op      Op
	ops     *rand.Rand
	hold    Span
	holds   *rand.Rand
	at      float64
}

func newSchedule(cfg Config, z *zipf) *schedule {
	gap := 1e9 * float64(cfg.procs()) / cfg.Rate
	return &schedule{
		gap:     gap,
		poisson: cfg.Arrivals != ArrivalsUniform,
		gaps:    newRNG(cfg.Seed, cfg.stream(streamArrivals)),
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
		s.at += s.gap * s.gaps.ExpFloat64()
	} else {
		s.at += s.gap
	}
	return arrival{at: int64(s.at), key: s.keys.next(), op: s.op.draw(s.ops), hold: s.hold.draw(s.holds)}
}

// Random streams of one seed. Worker i draws from streamWorkers + i, streamSpans + i and
// streamOps + i.
const (
	streamArrivals = iota
	streamArrivalKeys
	streamArrivalOps
	streamUncontended
	streamArrivalHolds
	streamWorkers
	streamSpans = 1 << 30
	streamOps   = 1 << 31
	streamsEach = 1 << 32 // streams of one process
)
