// Package peaks keeps the longest of many durations individually. A histogram does not show when they occurred, and
// whether they came together.
package peaks

import (
	"cmp"
	"slices"
)

// Most is how many are kept. For something that occurs a thousand times a second, they are the longest 3 % of a minute.
const Most = 2000

// Keep adds one to all if its length is at least from. all contains every value of at least that length so far. Keep
// returns the new list, and the new from.
func Keep[T any](all []T, one T, from int64, length func(T) int64) ([]T, int64) {
	if length(one) < from {
		return all, from
	}
	if all = append(all, one); len(all) > Most {
		return Halve(all, length)
	}
	return all, from
}

// Halve keeps the longest Most/2, sorted by length, and the first of equal ones, so that the next thousand values cost one sort.
func Halve[T any](all []T, length func(T) int64) ([]T, int64) {
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(length(b), length(a)) })
	all = all[:Most/2]
	return all, length(all[len(all)-1])
}
