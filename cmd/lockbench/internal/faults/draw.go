package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Lottery sets the bounds of Draw.
type Lottery struct {
	Seed     uint64
	Kinds    []Kind
	Masters  int
	AtOnce   int // most masters with a fault at the same time
	Duration time.Duration
	TTL      time.Duration // of the locks; a fault lasts up to three times as long
	// Rest is how long a master counts as faulty after it has lost its locks: it may have no
	// vote then.
	Rest time.Duration
}

// Draw chooses from these delays: some are usual for a round trip, some beyond any timeout.
var delays = []string{"exp(2ms)", "lognormal(10ms,1)", "100ms", "400ms"}

// Draw draws faults. The same lottery gives the same faults. At most AtOnce masters are faulty
// at a time, each with one fault.
func (l Lottery) Draw() (list []Fault, err error) {
	rng := rand.New(rand.NewPCG(l.Seed, 0xfa17))
	between := func(from, to time.Duration) time.Duration {
		return from + time.Duration(rng.Int64N(int64(max(to-from, 1))))
	}
	busy := make([]time.Duration, l.Masters) // until when a master is faulty
	turns := make([]time.Duration, l.AtOnce) // when each of AtOnce sources makes its next fault
	for {
		turn := slices.Index(turns, slices.Min(turns))
		from := (turns[turn] + between(l.TTL/20, l.TTL)).Round(time.Millisecond)
		to := (from + between(l.TTL/20, 3*l.TTL)).Round(time.Millisecond)
		if to >= l.Duration {
			return list, nil
		}
		kind := l.Kinds[rng.IntN(len(l.Kinds))]
		master := rng.IntN(l.Masters)
		for busy[master] > from { // not all are busy: at most AtOnce-1 other sources have a master
			master = (master + 1) % l.Masters
		}
		f, err := Parse(spell(rng, kind, master, from, to), l.Masters, l.Duration)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
		busy[master] = f.To
		if kind.forgets() {
			busy[master] += l.Rest
		}
		turns[turn] = busy[master]
	}
}

func spell(rng *rand.Rand, kind Kind, master int, from, to time.Duration) string {
	text := fmt.Sprintf("%s:%d", kind, master+1)
	if kind == Delay {
		text += ":" + delays[rng.IntN(len(delays))]
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
