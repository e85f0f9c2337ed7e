package redlock

import "time"

// DefaultHandOverTime is the default time for which a process hands a lease over among its own contenders. A fence has
// room for fencing.MaxHandOvers of them.
const DefaultHandOverTime = 20 * time.Millisecond

// MayHandOver reports whether a process may hand over a lease once more, given how often it did and the lease's age.
// After that other processes have their turn.
func MayHandOver(handed, most int, age, longest time.Duration) bool {
	return handed < most && age < longest
}
