// Package hot finds the hottest of many names in bounded memory.
package hot

// Counters is how many names a Sketch counts.
const Counters = 256

// A Sketch counts the names with the largest counts, by the space-saving algorithm (Metwally, Agrawal, El Abbadi 2005). A name
// that it does not count yet takes over the smallest count, and goes on from there. So a count is never below the true one,
// and above it by Over at most. A name with more than a 256th of all is always counted. The zero value is empty.
type Sketch struct {
	counts []Count
	byName map[string]int // index
}

// A Count is that of one name.
type Count struct {
	Name string
	N    uint64
	Over uint64 // how much of N may be of other names
}

// Add adds n to the count of a name.
func (s *Sketch) Add(name string, n uint64) {
	i, counted := s.byName[name]
	switch {
	case n == 0:
		return
	case counted:
	case len(s.counts) < Counters:
		if s.byName == nil {
			s.byName = make(map[string]int, Counters)
		}
		i, s.counts = len(s.counts), append(s.counts, Count{Name: name})
	default:
		i = s.smallest()
		delete(s.byName, s.counts[i].Name)
		s.counts[i].Name, s.counts[i].Over = name, s.counts[i].N
	}
	s.byName[name] = i
	s.counts[i].N += n
}

// smallest returns the index of the smallest count.
func (s *Sketch) smallest() (least int) {
	for i := range s.counts {
		if s.counts[i].N < s.counts[least].N {
			least = i
		}
	}
	return least
}

// Of returns the count of a name. One that is not counted may have as many as the smallest count.
func (s *Sketch) Of(name string) Count {
	if i, counted := s.byName[name]; counted {
		return s.counts[i]
	}
	c := Count{Name: name}
	if len(s.counts) == Counters {
		c.N = s.counts[s.smallest()].N
		c.Over = c.N
	}
	return c
}
