// Package redlock is the arithmetic of the lock: how long a grant is valid, when to renew a lease, how long to wait before
// the next attempt. Values in, values out: no clock, no I/O, no goroutine. The engine and its pipeline use it; lockbench
// predicts and advises with the same functions and constants.
//
//	drift             the allowance for clocks that differ
//	validity          how long a lease is still valid
//	renewal_interval  when KeepAlive renews, and how soon again
//	crowd             how far apart many contenders keep
//	retry_jitter      delays before the next attempt, and their jitter
//	handover_bound    how often and for how long a lease is handed over in a process
//	strangers         how long a free name is left to clients that poll
//	redial            delays before a master that went away is dialled again
//	restart           how long a restarted master has no vote
package redlock

import "time"

// DefaultDrift is the default allowance for the relative difference between the rates of two clocks.
const DefaultDrift = 0.01

// Granularity is the allowance for rounding: a master counts whole milliseconds and may expire a key up to one early.
const Granularity = 2 * time.Millisecond

// DriftAllowance returns how much of a lease the holder gives up because clocks differ: ttl*drift + 2ms, rounded up.
func DriftAllowance(ttl time.Duration, drift float64) time.Duration {
	return time.Duration(float64(ttl)*drift) + 1 + Granularity
}
