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

// draws is one random sequence of operations, each without its time: an open loop's, or a worker's in a closed loop.
type draws struct {
	key        keyGen
	op         Op
	hold       Span
	ops, spans *rand.Rand
}

// newDraws returns sequence n of this process. own is the key with distribution own. z comes from newZipf.
func newDraws(cfg Config, z *zipf, n uint64, own int) draws {
	return draws{
		key: newKeyGen(cfg, z, n, own), op: cfg.Op, hold: cfg.Hold,
		ops: newRNG(cfg.Seed, cfg.stream(streamOps+n)), spans: newRNG(cfg.Seed, cfg.stream(streamSpans+n)),
	}
}

// next returns an operation that is due at a time; below 0 in a closed loop.
func (d *draws) next(at int64) arrival {
	return arrival{at: at, key: d.key.next(), op: d.op.draw(d.ops), hold: d.hold.draw(d.spans)}
}

// schedule is one process's endless sequence of arrivals. It is pure: it reads no clock,
// and the same Config gives the same sequence.
type schedule struct {
	draws
	gap     float64 // mean, ns
	poisson bool
	gaps    *rand.Rand
	at      float64
}

func newSchedule(cfg Config, z *zipf) *schedule {
	gap := 1e9 * float64(cfg.procs()) / cfg.Rate
	return &schedule{
		draws:   newDraws(cfg, z, 0, -1),
		gap:     gap,
		poisson: cfg.Arrivals != ArrivalsUniform,
		gaps:    newRNG(cfg.Seed, cfg.stream(streamGaps)),
		at:      gap * float64(cfg.proc) / float64(cfg.procs()), // processes take turns
	}
}

func (s *schedule) next() arrival {
	gap := s.gap
	if s.poisson {
		gap *= s.gaps.ExpFloat64()
	}
	s.at += gap
	return s.draws.next(int64(s.at))
}

// Random streams of one seed. Sequence n draws names from stream n; the schedule is sequence 0, and worker i is 1 + i.
const (
	streamOps   = 1 << 29
	streamSpans = 1 << 30
	streamGaps  = 1 << 31
	streamsEach = 1 << 32 // streams of one process
)
