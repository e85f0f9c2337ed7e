package redlock

import "time"

// Validity returns how long a lock may still be relied on: the lease, less the time since
// before the first command was sent, less the allowance for the clocks.
func Validity(ttl, elapsed time.Duration, drift float64) time.Duration {
	return ttl - elapsed - DriftAllowance(ttl, drift)
}
