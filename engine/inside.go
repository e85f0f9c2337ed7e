package engine

import (
	"muxlock/engine/internal/inside"
	"muxlock/pipeline"
)

func init() {
	inside.Of = func(engine any) inside.Engine { return engine.(*Engine).inside() }
	inside.Front = func(cfg any, r inside.Router) any {
		c := cfg.(Config).withDefaults()
		return newEngine(c, r, newEvents(&c))
	}
	inside.Setup = func(cfg any) (pipeline.Setup, error) { return cfg.(Config).setup() }
}

func (e *Engine) inside() inside.Engine {
	return inside.Engine{
		Pipe: e.pipe, At: e.at, Durable: e.cfg.MastersAreDurable, MaxTTL: e.cfg.MaxTTL, Closing: e.closing,
		Setup: e.cfg.setup, Key: e.cfg.key, Held: e.held,
		Refusal: func(out pipeline.Outcome) error { return e.refusal(aRelease, out) },
	}
}

// held returns the lock that somebody in this process holds under a name; nil if nobody does.
func (e *Engine) held(name string) inside.Lock {
	s := e.names.shard(e.cfg.Prefix + name)
	s.mu.Lock()
	defer s.unlock()
	if n := s.states[e.cfg.Prefix+name]; n != nil && n.lease != nil {
		for h := range n.lease.holders {
			return h
		}
	}
	return nil
}
