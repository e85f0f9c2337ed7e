package redlock

import "time"

// DefaultMaxTTL is the longest lease that is assumed to exist where nothing else is
// configured.
const DefaultMaxTTL = 30 * time.Second

// RestartWait returns for how long a master that was restarted casts no vote: the longest
// lease that it may have forgotten, by the slower clock, and a second because a server
// reports its uptime in whole ones.
func RestartWait(maxTTL time.Duration, drift float64) time.Duration {
	return maxTTL + DriftAllowance(maxTTL, drift) + time.Second
}
