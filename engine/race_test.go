//go:build race

package engine

// underRace: allocations and speed say nothing.
const underRace = true
