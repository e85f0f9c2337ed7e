package advice

import (
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
)

// Check holds the run itself against the formulae: what it lost with the TTL that it
// had, and what it should have.
type Check struct {
	TTL       time.Duration `json:"ttl_ns"`
	Acquired  int64         `json:"acquired"`
	Lost      int64         `json:"lost"` // of them and of the quorums that came too late
	Predicted float64       `json:"predicted"`
	Lo        float64       `json:"lo"` // 95 %, of what was lost
	Hi        float64       `json:"hi"`
}

// surprise is how many times more than predicted may be lost before it is said.
const surprise = 2

// check needs a run whose locks were released by their holders in time.
func (k *maker) check() {
	if k.Acquired == 0 || k.Op != bench.AcquireRelease && k.Op != bench.Try {
		return
	}
	c := &Check{TTL: k.TTL, Acquired: k.Acquired, Lost: k.Lost}
	// The drift that the engine allowed for was its default. What was held is known
	// with its pauses.
	ttl := float64(k.TTL)
	c.Predicted = sizing.EngineClocks.LossHolding(ttl, k.Acquire, k.held(), sizing.Pauses{Each: sizing.Fixed(0)})
	c.Lo, c.Hi = sizing.ClopperPearson(min(k.Lost, k.Acquired+k.Late), k.Acquired+k.Late, confidence)
	k.out.Check = c
	if c.Lo > surprise*c.Predicted {
		k.warn("the run lost validity %s times in %s, with TTL %s, where %s is predicted: something else than measured here takes time", number(float64(c.Lost)), number(float64(c.Acquired)), span(c.TTL), chance(c.Predicted))
	}
}

// held is how long the run held its locks.
func (k *maker) held() *sizing.Law {
	if k.Hold != nil {
		return k.Hold
	}
	if law, err := HoldLaw(k.RunHold); err == nil {
		return law
	}
	return sizing.Fixed(0)
}
