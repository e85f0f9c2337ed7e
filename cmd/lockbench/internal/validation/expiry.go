package validation

import (
	"context"
	"fmt"
	"sync"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
	"muxlock/internal/quorum"
)

// The engine takes no lease that its MasterTimeout could use up, so that nothing of it is
// ever gone for the network's sake alone. What is counted is the acquires that leave less
// of it than if the quorum had come after so long.
const expiryLease = 2 * time.Second

// nearExpiry is the part of an acquire that the machine adds and no probe has in it; a check
// of a share is sharper than one of a percentile, so that it is less than nearQuorum.
const nearExpiry = 0.03

var lateQuorums = []time.Duration{12 * time.Millisecond, 14 * time.Millisecond, 17 * time.Millisecond}

var expirySettings = []setting{{fmt.Sprintf("%s, ttl %s", distances[0], expiryLease), 1.5, func(ctx context.Context, o Options) ([]Check, error) {
	var mu sync.Mutex
	var left []float64
	rows, err := distances[0].measure(ctx, o, func(ctx context.Context, e *engine.Engine, name string) error {
		lock, err := e.TryAcquire(ctx, name, expiryLease)
		if err != nil {
			return err
		}
		validity := time.Until(lock.Until())
		mu.Lock()
		left = append(left, float64(validity))
		mu.Unlock()
		return lock.Release(ctx)
	})
	return expiryChecks(rows, left), err
}}}

// expiryChecks holds how often too little validity was left against how many round trips
// were as long (F5), or but for nearExpiry of their length.
func expiryChecks(rows sizing.Rows, left []float64) (checks []Check) {
	law, _ := rows.QuorumTime(quorum.Size(rows.Masters()))
	if law == nil {
		return nil
	}
	for _, late := range lateQuorums {
		least := sizing.EngineClocks.Validity(float64(expiryLease), float64(late))
		var lost int64
		for _, validity := range left {
			if validity < least {
				lost++
			}
		}
		seen := func(late float64) Estimate {
			return share(sizing.EngineClocks.SeenAtAcquire(float64(expiryLease), sizing.EngineClocks.Validity(float64(expiryLease), late), law))
		}
		predicted := seen(float64(late))
		predicted.Lo, predicted.Hi = seen(float64(late)*(1+nearExpiry)).Lo, seen(float64(late)/(1+nearExpiry)).Hi
		checks = append(checks, Check{
			Formula: "F5", Quantity: fmt.Sprintf("less than %.0fms of validity left", least/1e6), Unit: bench.UnitShare,
			Predicted: predicted, Measured: share(lost, int64(len(left))),
		})
	}
	return checks
}
