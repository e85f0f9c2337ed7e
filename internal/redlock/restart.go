package redlock

import "time"

// DefaultMaxTTL is the default for the longest lease that any client may ask for.
const DefaultMaxTTL = 30 * time.Second

// RestartWait returns how long a restarted master has no vote: the longest lease that it may have forgotten, by the slower
// clock, and a second, because a server reports its uptime in whole seconds.
func RestartWait(maxTTL time.Duration, drift float64) time.Duration {
	return maxTTL + DriftAllowance(maxTTL, drift) + time.Second
}
