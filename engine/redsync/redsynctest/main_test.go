package redsynctest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	goredislib "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) {
	goredislib.SetLogger(silence{}) // it would report each failed dial
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // most tests wait for a lease to run out
		panic(err)
	}
	os.Exit(shared.Run(m, func() error {
		// go-redis dials a master that is down once a second, and looks whether it was closed in between.
		return goleak.Find(goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
	}))
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// shared are three masters for tests that leave them as they were.
var shared = redistest.Shared{N: 3}

// three returns the shared masters.
var three = shared.Masters

// having returns how many masters have value under the key; with "", how many have no key.
func having(t testing.TB, masters []*redisserver.Server, key, value string) (n int) {
	t.Helper()
	for _, m := range masters {
		if got, _ := redistest.Command(t, m, "GET", key).(string); got == value {
			n++
		}
	}
	return n
}

// free waits until no master has the key.
func free(t testing.TB, masters []*redisserver.Server, key string) {
	t.Helper()
	await.Equal(t, len(masters), func() any { return having(t, masters, key, "") }, "%s is gone", key)
}

// set gives some masters the key with another's value.
func set(t testing.TB, masters []*redisserver.Server, key string) {
	t.Helper()
	for _, m := range masters {
		require.Equal(t, "OK", redistest.Command(t, m, "SET", key, "another's"))
	}
}

// left returns how long a master will have the key, which is about to be there.
func left(t testing.TB, master *redisserver.Server, key string) (left time.Duration) {
	t.Helper()
	await.True(t, func() bool {
		left = time.Duration(redistest.Command(t, master, "PTTL", key).(int64)) * time.Millisecond
		return left > 0
	})
	return left
}

var keys atomic.Int64

// newKey returns a name that no test has used.
func newKey(t *testing.T) string { return fmt.Sprint(t.Name(), " ", keys.Add(1)) }
