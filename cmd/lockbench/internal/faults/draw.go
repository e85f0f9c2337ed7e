package faults

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Lottery sets the bounds of Draw.
type Lottery struct {
	Run
	Seed   uint64
	Kinds  []Kind
	AtOnce int           // most masters with a fault at the same time
	TTL    time.Duration // of the locks; a fault lasts up to three times as long
	// Rest is how long a master counts as faulty after it has lost its locks: it may have no
	// vote then.
	Rest time.Duration
}

// Draw chooses from these delays: some are usual for a round trip, some beyond any timeout.
var delays = []string{"exp(2ms)", "lognormal(10ms,1)", "100ms", "400ms"}

// source makes one fault after the other.
type source struct {
	kinds []Kind
	busy  []time.Duration // until when a master or a client is faulty; sources of masters share it
	turn  time.Duration   // when the last fault is over
}

// Draw draws faults. The same lottery gives the same faults. At most AtOnce masters are faulty at
// a time, each with one fault, and one client.
func (l Lottery) Draw() (list []Fault, err error) {
	rng := rand.New(rand.NewPCG(l.Seed, 0xfa17))
	between := func(from, to time.Duration) time.Duration {
		return from + time.Duration(rng.Int64N(int64(max(to-from, 1))))
	}
	sources := l.sources()
	for {
		s := slices.MinFunc(sources, func(a, b *source) int { return cmp.Compare(a.turn, b.turn) })
		from := (s.turn + between(l.TTL/20, l.TTL)).Round(time.Millisecond)
		to := (from + between(l.TTL/20, 3*l.TTL)).Round(time.Millisecond)
		if to >= l.Duration {
			return list, nil
		}
		kind := s.kinds[rng.IntN(len(s.kinds))]
		n := rng.IntN(len(s.busy))
		for s.busy[n] > from { // not all are busy: at most AtOnce-1 other sources have a master
			n = (n + 1) % len(s.busy)
		}
		f, err := Parse(l.spell(rng, kind, n, from, to), l.Run)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
		s.busy[n] = f.To
		switch {
		case kind.Forgets():
			s.busy[n] += l.Rest
		case kind == Crash: // the new client needs time to be of use
			s.busy[n] += l.TTL
		}
		s.turn = s.busy[n]
	}
}

func (l Lottery) sources() (sources []*source) {
	ofMasters := slices.DeleteFunc(slices.Clone(l.Kinds), Kind.ofClient)
	ofClients := slices.DeleteFunc(slices.Clone(l.Kinds), func(k Kind) bool { return !k.ofClient() })
	busy := make([]time.Duration, l.Masters)
	for range l.AtOnce {
		sources = append(sources, &source{kinds: ofMasters, busy: busy})
	}
	sources = append(sources, &source{kinds: ofClients, busy: make([]time.Duration, l.Clients)})
	return slices.DeleteFunc(sources, func(s *source) bool { return len(s.kinds) == 0 })
}

func (l Lottery) spell(rng *rand.Rand, kind Kind, n int, from, to time.Duration) string {
	text := fmt.Sprintf("%s:%d", kind, n+1)
	switch kind {
	case Delay:
		text += ":" + delays[rng.IntN(len(delays))]
	case Blackhole:
		text += fmt.Sprintf(":%d", rng.IntN(l.Clients)+1)
	}
	if kind.event() {
		return fmt.Sprintf("%s@%s", text, from)
	}
	return fmt.Sprintf("%s@%s-%s", text, from, to)
}

// ParseKinds parses names of kinds.
func ParseKinds(names []string) (kinds []Kind, err error) {
	for _, name := range names {
		if kind := Kind(name); !slices.Contains(Kinds, kind) {
			return nil, fmt.Errorf("%q is not one of %v", name, Kinds)
		}
		kinds = append(kinds, Kind(name))
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("names none of %v", Kinds)
	}
	return kinds, nil
}
