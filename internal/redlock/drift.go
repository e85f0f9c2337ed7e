// Package redlock is the arithmetic of the lock: how long a grant may be relied on, when a
// lease is renewed, how long a contender waits before its next attempt. Values in, values
// out: no clock, no I/O, no goroutine. The engine and its pipeline act by it, and what lockbench
// advises and predicts comes from the same functions and constants.
//
//	drift             the allowance for clocks that differ
//	validity          what of a lease is left
//	renewal_interval  when KeepAlive renews, and how soon again
//	crowd             how far apart many contenders keep
//	retry_jitter      delays before the next attempt, and their jitter
//	handover_bound    how often and for how long a lease is handed over in a process
//	strangers         how long a free name is left to clients that poll
//	redial            delays before a master that went away is dialled again
//	restart           how long a restarted master has no vote
package redlock

import "time"

// DefaultDrift is the relative error between the rates of two clocks that is allowed for
// where nothing else is configured.
const DefaultDrift = 0.01

// Granularity is allowed for beside the rates: a master counts in whole milliseconds and
// may expire a key up to one early.
const Granularity = 2 * time.Millisecond

// DriftAllowance returns how much of a lease is given up because the clocks of masters and
// clients differ: ttl*drift + 2ms, rounded up, against the holder.
func DriftAllowance(ttl time.Duration, drift float64) time.Duration {
	return time.Duration(float64(ttl)*drift) + 1 + Granularity
}
