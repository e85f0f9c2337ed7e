package redlock

import "time"

// DefaultHandOverTime is the default time for which a process hands a lease over among its own contenders. A fence has
// room for fencing.MaxHandOvers of them.
const DefaultHandOverTime = 20 * time.Millisecond

// TurnOfNewcomers returns for how long a lease is handed over to more than one caller who came after it was granted, while
// other processes stand in line: eight attempts. So passing the name on costs at most about a sixth of the time.
func TurnOfNewcomers(attempt time.Duration) time.Duration { return 8 * attempt }

// MayHandOver reports whether a process may hand over a lease once more, given how often it did and the lease's age.
// After that other processes have their turn.
func MayHandOver(handOvers, most int, age, longest time.Duration) bool {
	return handOvers < most && age < longest
}
