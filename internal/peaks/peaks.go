// Package peaks keeps the longest of many times one by one: a histogram does not show
// when they were, and whether they came together.
package peaks

import (
	"cmp"
	"slices"
)

// Most is how many are kept: a minute of what comes a thousand times a second has its
// longest 3 % there.
const Most = 2000

// Keep adds one to all, which holds every one of at least from, if it is that long. It
// returns them, and from which length on all are there now.
func Keep[T any](all []T, one T, from int64, length func(T) int64) ([]T, int64) {
	if length(one) < from {
		return all, from
	}
	if all = append(all, one); len(all) > Most {
		return Halve(all, length)
	}
	return all, from
}

// Halve forgets all but the longest Most/2, so that the next thousand cost one sort. What
// is left is in the order of length.
func Halve[T any](all []T, length func(T) int64) ([]T, int64) {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(length(b), length(a)) })
	all = all[:Most/2]
	return all, length(all[len(all)-1])
}
