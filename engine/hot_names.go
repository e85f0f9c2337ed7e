package engine

import (
	"time"

	"muxlock/engine/internal/hot"
	"muxlock/engine/internal/inside"
	"muxlock/internal/clock"
)

// A HotName is a name that this process acquired often, or waited for long, in the last five to ten minutes. Permits count
// by their name.
//
// The engine counts 256 names in each five minutes. A name beyond them may be counted with others, so no figure is too low,
// and each says by how much it may be too high. The error is at most a 256th of all.
type HotName struct {
	Name         string        `json:"name"`
	Acquires     uint64        `json:"acquires"`       // locks given out
	AcquiresOver uint64        `json:"acquires_over"`  // how many of them may be of other names
	Waited       time.Duration `json:"waited_ns"`      // by all its acquires together, those that got no lock among them
	WaitedOver   time.Duration `json:"waited_over_ns"` // how much of that may be of other names
}

// HotNames returns the names that were waited for longest, and the names that were acquired most often; the hottest first,
// at most 64 each. No I/O. It takes each of 256 mutexes for a moment, and is for people and pages, not for each request.
func (e *Engine) HotNames() (waited, acquired []HotName) {
	now := clock.Now()
	for i := range e.names.shards {
		s := &e.names.shards[i]
		s.mu.Lock()
		s.foldLocked(now)
		s.unlock()
	}
	byWait, byNumber := e.names.hot.Hottest(now)
	return e.hotNames(byWait), e.hotNames(byNumber)
}

func (e *Engine) hotNames(all []hot.Name) (names []HotName) {
	for _, n := range all {
		names = append(names, HotName{
			Name: e.cfg.nameOf(n.Acquires.Name), Acquires: n.Acquires.N, AcquiresOver: n.Acquires.Over,
			Waited: time.Duration(n.Waited.N), WaitedOver: time.Duration(n.Waited.Over),
		})
	}
	return names
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

// waited counts the wait of an acquire without a lock, whose state may be gone.
func (t *nameTable) waited(name string, since clock.Instant) {
	_, of := inside.SlotOf(name)
	now := clock.Now()
	t.hot.Add(of, 0, now.Sub(since), now)
}

// foldLocked gives the heat of the shard's names to the sketch.
func (s *shard) foldLocked(now clock.Instant) {
	for _, n := range s.states {
		n.coolLocked()
	}
	s.folded = now
}

func (n *nameState) coolLocked() {
	if n.heat != (heat{}) {
		_, of := inside.SlotOf(n.name)
		n.shard.table.hot.Add(of, n.heat.acquires, n.heat.waited, n.shard.folded)
		n.heat = heat{}
	}
}
