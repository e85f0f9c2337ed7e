package redistest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
)

// RedsyncToken is a value as Redsync makes it.
const RedsyncToken = "c29tZXRoaW5nIHJhbmRvbQ=="

// Put gives masters a lock's key as another client does.
func Put(t testing.TB, masters []*redisserver.Server, name, value string) {
	t.Helper()
	for _, m := range masters {
		require.Equal(t, "OK", Command(t, m, "SET", name, value, "NX", "PX", "60000"))
	}
}

// Delete deletes a key on masters.
func Delete(t testing.TB, masters []*redisserver.Server, name string) {
	t.Helper()
	for _, m := range masters {
		Command(t, m, "DEL", name)
	}
}

// Get returns the value of a key on each master; "" where it is missing.
func Get(t testing.TB, masters []*redisserver.Server, name string) []string {
	t.Helper()
	values := make([]string, len(masters))
	for i, m := range masters {
		values[i], _ = Command(t, m, "GET", name).(string)
	}
	return values
}

// PTTL returns the time to live of a key in milliseconds on each master; -2 where it is missing.
func PTTL(t testing.TB, masters []*redisserver.Server, name string) []int64 {
	t.Helper()
	left := make([]int64, len(masters))
	for i, m := range masters {
		left[i] = Command(t, m, "PTTL", name).(int64)
	}
	return left
}

// Gone waits until no master has any of the keys, for less than the default lease.
func Gone(t testing.TB, masters []*redisserver.Server, names ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(names, func(name string) bool {
			return slices.ContainsFunc(Get(t, masters, name), func(value string) bool { return value != "" })
		})
	}, 8*time.Second, 5*time.Millisecond, "the keys are gone")
}
