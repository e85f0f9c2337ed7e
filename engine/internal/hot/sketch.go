// Package hot finds the hottest of many names in bounded memory.
package hot

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"muxlock/internal/clock"
)

const (
	Counters = 256             // names that a sketch counts
	Window   = 5 * time.Minute // for how long names are counted together; those of the window before are shown, too
	Shown    = 64              // names that are shown
)

// Names counts names in the last one or two windows. The zero value is empty. It is safe for concurrent use.
type Names struct {
	mu          sync.Mutex // guards the following; a leaf
	began       clock.Instant
	now, before sketch
}

// A Count is that of one name.
type Count struct{ N, Over uint64 } // Over: how much of N may be of other names

// Add adds n to the count of a name at an instant.
func (s *Names) Add(name string, n uint64, at clock.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnLocked(at)
	switch ago := s.began.Sub(at); {
	case ago <= 0:
		s.now.add(name, n)
	case ago <= Window: // else it is of a shard that nobody has used since
		s.before.add(name, n)
	}
}

// turnLocked begins a new window when it is time.
func (s *Names) turnLocked(now clock.Instant) {
	switch age := now.Sub(s.began); {
	case s.began.IsZero() || age >= 2*Window:
		s.began, s.now, s.before = now, sketch{}, sketch{}
	case age >= Window:
		s.began, s.now, s.before = s.began.Add(Window), sketch{}, s.now
	}
}

// Of returns the count of a name.
func (s *Names) Of(name string, now clock.Instant) Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnLocked(now)
	return s.ofLocked(name)
}

func (s *Names) ofLocked(name string) Count {
	a, b := s.now.of(name), s.before.of(name)
	return Count{a.N + b.N, a.Over + b.Over}
}

// Hottest returns the names with the largest counts; the hottest first.
func (s *Names) Hottest(now clock.Instant) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnLocked(now)
	n := make(map[string]uint64)
	for _, w := range []*sketch{&s.now, &s.before} {
		for name := range w.at {
			n[name] = s.ofLocked(name).N
		}
	}
	names = slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b)) })
	return names[:min(len(names), Shown)]
}

// A sketch counts the names with the largest counts, by the space-saving algorithm (Metwally, Agrawal, El Abbadi 2005). A name
// that it does not count yet takes over the smallest count, and goes on from there. So a count is never below the true one,
// and above it by Over at most. A name with more than a 256th of all is always counted.
type sketch struct {
	names  [Counters]string // "": none yet
	counts [Counters]Count
	at     map[string]int // index of a name
}

func (s *sketch) add(name string, n uint64) {
	i, counted := s.at[name]
	if n == 0 {
		return
	}
	if !counted {
		if s.at == nil {
			s.at = make(map[string]int, Counters)
		}
		i = s.smallest()
		delete(s.at, s.names[i])
		s.at[name], s.names[i], s.counts[i].Over = i, name, s.counts[i].N
	}
	s.counts[i].N += n
}

// smallest returns the index of the smallest count.
func (s *sketch) smallest() (least int) {
	for i := range s.counts {
		if s.counts[i].N < s.counts[least].N {
			least = i
		}
	}
	return least
}

// of returns the count of a name. One that is not counted may have as many as the smallest count.
func (s *sketch) of(name string) Count {
	if i, counted := s.at[name]; counted {
		return s.counts[i]
	}
	n := s.counts[s.smallest()].N
	return Count{n, n}
}
