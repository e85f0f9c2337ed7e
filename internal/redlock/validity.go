package redlock

import "time"

// Validity returns how long a lock is still valid: the lease, less the time elapsed since before the first command was
// sent, less the drift allowance.
func Validity(ttl, elapsed time.Duration, drift float64) time.Duration {
	return ttl - elapsed - DriftAllowance(ttl, drift)
}
