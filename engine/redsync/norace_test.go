//go:build !race

package redsync

const underRace = false
