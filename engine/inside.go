package engine

import (
	"slices"

	"muxlock/engine/internal/inside"
	"muxlock/pipeline"
)

func init() {
	inside.Of = func(engine any) inside.Engine { return engine.(*Engine).inside() }
	inside.Front = func(cfg any, r inside.Router) any {
		c := cfg.(Config).withDefaults()
		return newEngine(c, r, newRecord(&c))
	}
	inside.Setup = func(cfg any) (pipeline.Setup, error) { return cfg.(Config).setup() }
}

func (e *Engine) inside() inside.Engine {
	return inside.Engine{
		Pipe: e.masters.pipe, At: e.masters.at, Durable: e.cfg.MastersAreDurable, Fencing: e.cfg.Fencing, MaxTTL: e.cfg.MaxTTL, Drift: e.cfg.Drift, Closing: e.closing,
		Setup: e.cfg.setup, Key: e.cfg.key, Holders: e.holders, Snapshot: e.snapshot, Log: e.record.queue.Log,
		Own: func() any {
			if e.masters.router != nil {
				return e.stats(pipeline.Stats{})
			}
			return e.Stats()
		},
		Refusal: func(out pipeline.Outcome) error { return e.masters.refusal(aRelease, out) },
	}
}

// holders returns a holder of each lease that this process has under a key.
func (e *Engine) holders(key string) (all []inside.Lock) {
	s := e.names.shard(key)
	s.mu.Lock()
	defer s.unlock()
	if n := s.states[key]; n != nil {
		for _, l := range append(slices.Clone(n.Apart), n.Lease) {
			if l != nil && len(l.holders) > 0 {
				all = append(all, l.holders[0])
			}
		}
	}
	return all
}
