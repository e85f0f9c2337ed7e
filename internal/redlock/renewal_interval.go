package redlock

import "time"

// Fractions of a ttl that time its renewals.
const (
	RenewalsPerTTL = 3  // a renewal that fails early leaves time for a dozen more
	RetriesPerTTL  = 24 // pauses after failed renewals
	slackPerTTL    = 64
)

// RenewalInterval returns the time from one renewal of a lease to the next.
func RenewalInterval(ttl time.Duration) time.Duration { return ttl / RenewalsPerTTL }

// RenewalRetry returns the pause after a failed renewal.
func RenewalRetry(ttl time.Duration) time.Duration {
	return max(ttl/RetriesPerTTL, time.Millisecond)
}

// RenewalSlack returns how much too early a renewal may be sent, to share a round with others.
func RenewalSlack(ttl time.Duration) time.Duration { return ttl / slackPerTTL }
