package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A Schedule is one simulation: who takes part, and what goes wrong when. All is drawn before the start,
// so leaving one fault out changes nothing else.
type Schedule struct {
	Seed   uint64
	Shape  Shape
	Faults []Fault // in order
}

// A Shape is who takes part.
type Shape struct {
	Masters   int
	Engines   int
	Callers   int    // of each engine
	Names     int    // of each kind
	Fencing   []bool // by engine
	Strangers int
	Durable   bool // no master ever forgets what it has answered
	MaxTTL    time.Duration
	Timeout   time.Duration // of a master
	Queue     int
	Drift     float64
	Faster    []float64         // by master, within Drift
	Delay     [][]time.Duration // by engine and master: there and back, each
	HandOver  time.Duration

	// A schedule is played in acts. Each act has calls and faults for a span. Then the faults are over,
	// the calls end, and an audit looks at the rest.
	Acts int
	Span time.Duration
	Roll bool // then masters fail one after another, under locks that are kept
}

// A Fault begins At after the begin of an act. It ends For later, or with the act. Those of a roll have the number behind the
// last act, and begin one after another.
type Fault struct {
	Kind    string
	Act     int
	At, For time.Duration
	Engine  int // -1: all
	Master  int // -1: all
	Bytes   int
	By      time.Duration
	Other   int  // a master
	Hasty   bool // in a roll: it does not wait until all masters vote and have the kept locks
}

func (f Fault) String() string {
	return fmt.Sprintf("act %d %-14s at %7.3fs for %6.3fs  engine %2d  master %2d  bytes %4d  by %v  other %d  hasty %v", f.Act, f.Kind, f.At.Seconds(), f.For.Seconds(), f.Engine, f.Master, f.Bytes, f.By, f.Other, f.Hasty)
}

func (s Schedule) String() string {
	var b strings.Builder
	p := s.Shape
	p.Delay = nil
	fmt.Fprintf(&b, "seed %d: %+v\n", s.Seed, p)
	for i, f := range s.Faults {
		fmt.Fprintf(&b, "%4d %v\n", i, f)
	}
	return b.String()
}

// allFenced reports whether every client checks whose data a master has.
func (p Shape) allFenced() bool { return p.Strangers == 0 && !slices.Contains(p.Fencing, false) }

// anyFenced reports whether there is a set whose registers a majority must keep.
func (p Shape) anyFenced() bool { return slices.Contains(p.Fencing, true) }

// Draw returns the schedule of a seed, with about so many faults.
func Draw(seed uint64, faults int) Schedule {
	r := rand.New(rand.NewPCG(seed, 0))
	s := Schedule{Seed: seed, Shape: drawShape(r)}
	kinds := s.Shape.kinds()
	for range faults/2 + r.IntN(faults+1) {
		s.Faults = append(s.Faults, s.Shape.drawFault(r, kinds[r.IntN(len(kinds))].name))
	}
	slices.SortStableFunc(s.Faults, func(a, b Fault) int { return cmp.Or(cmp.Compare(a.Act, b.Act), cmp.Compare(a.At, b.At)) })
	if s.Shape.Roll {
		s.Faults = append(s.Faults, s.Shape.drawRoll(r)...)
	}
	return s
}

// kinds returns the allowed kinds of faults.
func (p Shape) kinds() (allowed []kind) {
	for _, k := range faultKinds {
		if k.allowed == nil || k.allowed(p) {
			allowed = append(allowed, k)
		}
	}
	return allowed
}

func drawShape(r *rand.Rand) Shape {
	p := Shape{
		Masters: []int{3, 3, 5, 5, 7}[r.IntN(5)], Engines: 2 + min(r.IntN(7), r.IntN(7)), Names: []int{1, 2, 3, 8}[r.IntN(4)],
		MaxTTL:   []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second}[r.IntN(3)],
		Timeout:  []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond}[r.IntN(3)],
		Queue:    []int{4, 64, 1 << 16}[r.IntN(3)],
		Drift:    []float64{0.001, 0.01, 0.1}[r.IntN(3)],
		HandOver: []time.Duration{time.Nanosecond, 0, time.Second}[r.IntN(3)],
		Acts:     1 + min(r.IntN(3), r.IntN(3)),
		Span:     []time.Duration{2 * time.Second, 3 * time.Second, 4 * time.Second, 12 * time.Second}[r.IntN(4)],
	}
	if p.Roll = r.IntN(5) == 0; p.Roll { // in place of the further acts
		p.Acts, p.MaxTTL, p.Span = 1, 2*time.Second, min(p.Span, 4*time.Second)
	}
	p.Callers = max(1, 16/p.Engines)
	fenced := r.IntN(4) // 0: none; 1: some; else all
	if fenced == 0 {
		p.Strangers = r.IntN(3)
	}
	p.Durable = p.Strangers > 0 || r.IntN(4) == 0
	far := 500 << r.IntN(6) // in microseconds: up to a quarter of the shortest timeout, there and back
	for range p.Engines {
		p.Fencing = append(p.Fencing, fenced > 1 || fenced == 1 && r.IntN(2) == 0)
		var delays []time.Duration
		for range p.Masters {
			delays = append(delays, time.Duration(r.IntN(far))*time.Microsecond)
		}
		p.Delay = append(p.Delay, delays)
	}
	for range p.Masters {
		p.Faster = append(p.Faster, p.Drift*min(1, max(-1, 4*r.Float64()-2))) // half of them at the limit
	}
	return p
}

// drawFault draws a fault of a kind. It draws every field, also those that the kind does not use.
func (p Shape) drawFault(r *rand.Rand, kind string) Fault {
	f := Fault{Kind: kind, Act: r.IntN(p.Acts), At: time.Duration(r.Int64N(int64(p.Span))), Engine: r.IntN(p.Engines+1) - 1, Master: r.IntN(p.Masters), Other: r.IntN(p.Masters)}
	f.For = 5 * time.Millisecond << r.IntN(10)
	f.For += time.Duration(r.Int64N(int64(f.For)))
	if r.IntN(4) == 0 { // no later calls may repair what it leaves
		f.At = p.Span - time.Duration(r.Int64N(int64(time.Second)))
	}
	f.Bytes = r.IntN(1 << r.IntN(12))
	f.By = time.Duration(r.Int64N(int64(2 * p.Timeout)))
	if r.IntN(8) == 0 {
		f.Master = -1
	}
	return f
}
