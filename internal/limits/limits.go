// Package limits has the limits that a user meets.
package limits

import "time"

const (
	// Permits is the most permits of a name. A master tries all of them in one step, and serves nobody else meanwhile.
	Permits = 64
	// SetNames is the most names of a set. A master takes a set in one call of a script, and serves nobody else meanwhile.
	SetNames = 1000
	// NameBytes is the longest name of a lock, its prefix included.
	NameBytes = 512
	// ValueBytes is the longest string that may be a lock's value.
	ValueBytes = 512
	// HolderBytes is the longest text that says who holds a lock.
	HolderBytes = 64
	// Masters is the most masters of a set.
	Masters = 64
	// TTL is the longest ttl. It keeps sums of durations far from overflow.
	TTL = 365 * 24 * time.Hour
	// AfterWriter is how long new readers stay out after a writer that waited for readers gave up. Other writers that wait
	// must repeat their intents sooner than that.
	AfterWriter = 250 * time.Millisecond
)
