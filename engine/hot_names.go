package engine

import (
	"time"

	"muxlock/engine/internal/hot"
	"muxlock/engine/internal/inside"
	"muxlock/internal/clock"
)

// A HotName is a name that this process acquired often, or waited for long, in the last five to ten minutes. Permits count
// by their name. 256 names are counted in each five minutes, and others with them: no figure is too low, and each says by
// how much it may be too high, at most a 256th of all.
type HotName struct {
	Name         string        `json:"name"`
	Acquires     uint64        `json:"acquires"`       // locks given out
	AcquiresOver uint64        `json:"acquires_over"`  // how many of them may be of other names
	Waited       time.Duration `json:"waited_ns"`      // by all its acquires together, those that got no lock among them
	WaitedOver   time.Duration `json:"waited_over_ns"` // how much of that may be of other names
}

// HotNames returns the names that were waited for longest, and the names that were acquired most often; the hottest first,
// at most 64 each. No I/O. It takes each of 256 mutexes for a moment: it is for people and pages, not for each request.
func (e *Engine) HotNames() (waited, acquired []HotName) {
	now, t := clock.Now(), &e.names
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		s.foldLocked(now)
		s.unlock()
	}
	hottest := func(of *hot.Names) []HotName {
		names := []HotName{} // JSON has them also if there are none
		for _, name := range of.Hottest(now) {
			a, w := t.acquires.Of(name, now), t.waits.Of(name, now)
			names = append(names, HotName{e.cfg.nameOf(name), a.N, a.Over, time.Duration(w.N), time.Duration(w.Over)})
		}
		return names
	}
	return hottest(&t.waits), hottest(&t.acquires)
}

// A heat is what a name gained since its shard was folded.
type heat struct {
	acquires uint64
	waited   time.Duration
}

// foldEvery bounds the time of which a shard's names gain heat.
const foldEvery = time.Minute

// warmLocked counts an acquire.
func (n *nameState) warmLocked(now clock.Instant, waited time.Duration) {
	if s := n.shard; s.folded.IsZero() || now.Sub(s.folded) > foldEvery {
		s.foldLocked(now)
	}
	n.heat.acquires++
	n.heat.waited += waited
}

// foldLocked gives the heat of the shard's names to the sketches.
func (s *shard) foldLocked(now clock.Instant) {
	for _, n := range s.states {
		n.coolLocked()
	}
	s.folded = now
}

func (n *nameState) coolLocked() {
	if n.heat != (heat{}) {
		n.shard.table.warm(n.name, n.heat, n.shard.folded)
		n.heat = heat{}
	}
}

// warm counts what was of a name at an instant.
func (t *nameTable) warm(name string, h heat, at clock.Instant) {
	_, of := inside.SlotOf(name)
	t.acquires.Add(of, h.acquires, at)
	t.waits.Add(of, uint64(max(h.waited, 0)), at)
}
