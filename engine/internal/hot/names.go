package hot

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"muxlock/internal/clock"
)

const (
	// Window is how long names are counted together. Those of the window before are shown, too.
	Window = 5 * time.Minute
	// Shown is how many names are shown.
	Shown = 64
)

// Names counts how often names were acquired, and for how long they were waited for, in the last one or two windows. The zero
// value is empty. It is safe for concurrent use.
type Names struct {
	mu          sync.Mutex // guards the following; a leaf
	began       clock.Instant
	now, before window
}

type window struct{ acquires, waited Sketch }

// Add counts what was of a name at an instant.
func (s *Names) Add(name string, acquires uint64, waited time.Duration, at clock.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnLocked(at)
	w := &s.now
	switch ago := s.began.Sub(at); {
	case ago > Window: // of a shard that nobody has used since
		return
	case ago > 0:
		w = &s.before
	}
	w.acquires.Add(name, acquires)
	w.waited.Add(name, uint64(max(waited, 0)))
}

// turnLocked begins a new window when it is time.
func (s *Names) turnLocked(now clock.Instant) {
	switch age := now.Sub(s.began); {
	case s.began.IsZero() || age >= 2*Window:
		s.began, s.now, s.before = now, window{}, window{}
	case age >= Window:
		s.began, s.now, s.before = s.began.Add(Window), window{}, s.now
	}
}

// A Name is how hot a name was. Its Counts are never below the true ones.
type Name struct{ Acquires, Waited Count }

// Hottest returns the names that were waited for longest, and those acquired most often; the hottest first.
func (s *Names) Hottest(now clock.Instant) (waited, acquired []Name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnLocked(now)
	return s.hottestLocked(func(w *window) *Sketch { return &w.waited }, func(n Name) uint64 { return n.Waited.N }),
		s.hottestLocked(func(w *window) *Sketch { return &w.acquires }, func(n Name) uint64 { return n.Acquires.N })
}

func (s *Names) hottestLocked(of func(*window) *Sketch, by func(Name) uint64) (all []Name) {
	seen := make(map[string]bool)
	for _, w := range []*window{&s.now, &s.before} {
		for _, c := range of(w).counts {
			if !seen[c.Name] {
				seen[c.Name] = true
				all = append(all, Name{
					Acquires: sum(s.now.acquires.Of(c.Name), s.before.acquires.Of(c.Name)),
					Waited:   sum(s.now.waited.Of(c.Name), s.before.waited.Of(c.Name)),
				})
			}
		}
	}
	slices.SortFunc(all, func(a, b Name) int {
		return cmp.Or(cmp.Compare(by(b), by(a)), cmp.Compare(a.Acquires.Name, b.Acquires.Name))
	})
	return all[:min(len(all), Shown)]
}

func sum(a, b Count) Count { return Count{Name: a.Name, N: a.N + b.N, Over: a.Over + b.Over} }
