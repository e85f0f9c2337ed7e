package redlock

import "time"

// Parts of a ttl that time its renewals.
const (
	RenewalsPerTTL = 3  // so that one that fails early leaves time for a dozen more
	RetriesPerTTL  = 24 // pauses between failed ones
	slackPerTTL    = 64
)

// RenewalInterval returns when a lease is renewed, from the last renewal on.
func RenewalInterval(ttl time.Duration) time.Duration { return ttl / RenewalsPerTTL }

// RenewalRetry returns the pause after a renewal that failed.
func RenewalRetry(ttl time.Duration) time.Duration {
	return max(ttl/RetriesPerTTL, time.Millisecond)
}

// RenewalSlack returns how much earlier than its time a renewal may be sent, to share a
// round with others.
func RenewalSlack(ttl time.Duration) time.Duration { return ttl / slackPerTTL }
