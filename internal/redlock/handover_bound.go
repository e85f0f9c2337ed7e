package redlock

import "time"

// DefaultHandOverTime is for how long a lease is handed over within a process where nothing
// else is configured. The number of times is bounded by what a fence has room for
// (fencing.MaxHandOvers).
const DefaultHandOverTime = 20 * time.Millisecond

// MayHandOver reports whether a lease that has been handed over so many times, and is so old,
// may be handed over within its process once more. After that other processes have their turn.
func MayHandOver(handed, most int, age, longest time.Duration) bool {
	return handed < most && age < longest
}
