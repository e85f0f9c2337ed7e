// Package await is how tests wait: until something is so, with what was seen last if it never is. It works in a bubble, too.
package await

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Patience is the MasterTimeout of tests in which masters are not slow: longer than a busy machine keeps an answer waiting, and
// shorter than a lease.
const Patience = 2 * time.Second

// limit is how long a test waits for what nothing but a fault can keep away. Leases of tests that wait for the end of a key
// are longer.
const limit = 15 * time.Second

// True waits until a condition holds.
func True(t testing.TB, condition func() bool, why ...any) {
	t.Helper()
	Within(t, limit, condition, why...)
}

// Within is True where the time is part of what is tested, or where much is waited for.
func Within(t testing.TB, d time.Duration, condition func() bool, why ...any) {
	t.Helper()
	if !holds(d, condition) {
		require.Fail(t, "still not so after "+d.String(), why...)
	}
}

// Equal waits until what see returns is want, also as a number of another type.
func Equal(t testing.TB, want any, see func() any, why ...any) {
	t.Helper()
	var seen any
	if !holds(limit, func() bool {
		seen = see()
		return assert.ObjectsAreEqualValues(want, seen)
	}) {
		if len(why) == 0 {
			why = []any{"after " + limit.String()}
		}
		require.EqualValues(t, want, seen, why...)
	}
}

func holds(d time.Duration, condition func() bool) bool {
	for begun := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(begun) >= d {
			return false
		}
	}
	return true
}
