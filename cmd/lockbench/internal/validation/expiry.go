package validation

import (
	"context"
	"fmt"
	"slices"
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
	rows, left, err := distances[0].measure(ctx, o, func(ctx context.Context, e *engine.Engine, name string) (time.Duration, error) {
		lock, err := e.TryAcquire(ctx, name, expiryLease)
		if err != nil {
			return 0, err
		}
		return time.Until(lock.Until()), lock.Release(ctx)
	})
	return expiryChecks(rows, left), err
}}}

// outlived are the shares of acquires that the longest holds of the leases are asked for.
var outlived = []float64{0.2, 0.05}

// expiryChecks holds how often too little validity was left against how many round trips
// were as long (F5), or but for nearExpiry of their length; and how many acquires left less than
// the longest hold that so many may outlive (F8).
func expiryChecks(rows sizing.Rows, left []float64) (checks []Check) {
	law, _ := rows.QuorumTime(quorum.Size(rows.Masters()))
	if law == nil {
		return nil
	}
	clocks, ttl := sizing.EngineClocks, float64(expiryLease)
	check := func(formula, quantity string, least, late float64) Check {
		lost := int64(len(slices.DeleteFunc(slices.Clone(left), func(validity float64) bool { return validity >= least })))
		seen := func(late float64) Estimate { return share(clocks.SeenAtAcquire(ttl, clocks.Validity(ttl, late), law)) }
		predicted := seen(late)
		predicted.Lo, predicted.Hi = seen(late*(1+nearExpiry)).Lo, seen(late/(1+nearExpiry)).Hi
		return Check{Formula: formula, Quantity: quantity, Unit: bench.UnitShare, Predicted: predicted, Measured: share(lost, int64(len(left)))}
	}
	for _, late := range lateQuorums {
		least := clocks.Validity(ttl, float64(late))
		checks = append(checks, check("F5", fmt.Sprintf("less than %.0fms of validity left", least/1e6), least, float64(late)))
	}
	for _, p := range outlived {
		hold := clocks.LongestHold(ttl, 2*p, law, sizing.Pauses{}) // half of it is for pauses
		c := check("F8", fmt.Sprintf("less than a hold of %.0fms, which %.0f%% may outlive", hold/1e6, 100*p), hold, clocks.Validity(ttl, hold))
		wide := p / c.Predicted.Value // the interval is of the round trips; what it is around is p
		c.Predicted.Value, c.Predicted.Lo, c.Predicted.Hi = p, c.Predicted.Lo*wide, c.Predicted.Hi*wide
		checks = append(checks, c)
	}
	return checks
}
