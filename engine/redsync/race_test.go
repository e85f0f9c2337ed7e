//go:build race

package redsync

// underRace: allocations and speed say nothing.
const underRace = true
