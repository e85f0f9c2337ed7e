// Package redistest gives tests real masters and a look into them.
package redistest

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
)

// RequireEnv names the environment variable that, set to 1, turns a missing server program from a skip into a failure.
const RequireEnv = "MUXLOCK_REQUIRE_REDIS"

// limit bounds each command and each start.
const limit = 10 * time.Second

// Masters starts n masters, stopped at cleanup. Without a server program the test is skipped, or fails if RequireEnv is 1.
func Masters(t testing.TB, n int) []*redisserver.Server {
	t.Helper()
	return MastersWith(t, n, redisserver.Options{})
}

// MastersWith is Masters with options.
func MastersWith(t testing.TB, n int, opts redisserver.Options) []*redisserver.Server {
	t.Helper()
	if len(opts.Programs) == 0 {
		NeedServer(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	masters, err := redisserver.StartN(ctx, n, opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := redisserver.StopAll(masters); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return masters
}

// NeedServer skips a test where no server program is installed. If RequireEnv is 1, starting a server fails instead.
func NeedServer(t testing.TB) {
	t.Helper()
	if _, err := redisserver.Binary(); errors.Is(err, redisserver.ErrNoBinary) && os.Getenv(RequireEnv) != "1" {
		t.Skip(err)
	}
}

// Addrs returns the addresses of masters, in order.
func Addrs(masters []*redisserver.Server) []string {
	addrs := make([]string, len(masters))
	for i, m := range masters {
		addrs[i] = m.Addr()
	}
	return addrs
}

// Command sends one command to one master over a connection of its own and returns the reply: string, int64, []any, or
// nil. An error reply, or none within ten seconds, fails the test.
func Command(t testing.TB, master *redisserver.Server, args ...string) any {
	t.Helper()
	client := dial(t, master)
	defer client.Close()
	return do(t, client, args...)
}

// Keys returns every key of every master, sorted; a key that k masters hold is there k times. Each master is scanned to
// the end, so that no key is missed that was there all the time.
func Keys(t testing.TB, masters ...*redisserver.Server) []string {
	t.Helper()
	var keys []string
	for _, m := range masters {
		keys = append(keys, scan(t, m)...)
	}
	slices.Sort(keys)
	return keys
}

// scan returns the keys of one master, each once.
func scan(t testing.TB, master *redisserver.Server) []string {
	t.Helper()
	client := dial(t, master)
	defer client.Close()
	var keys []string
	for cursor := "0"; ; {
		reply := do(t, client, "SCAN", cursor, "COUNT", "1000").([]any)
		for _, key := range reply[1].([]any) {
			keys = append(keys, key.(string))
		}
		if cursor = reply[0].(string); cursor == "0" {
			slices.Sort(keys) // SCAN may name a key twice
			return slices.Compact(keys)
		}
	}
}

func dial(t testing.TB, master *redisserver.Server) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{master.Addr()},
		Password:          master.Password(),
		ForceSingleClient: true,
		DisableCache:      true,
		DisableRetry:      true,
		AlwaysRESP2:       true, // one shape of replies
		ConnWriteTimeout:  limit,
	})
	require.NoError(t, err)
	return client
}

func do(t testing.TB, client rueidis.Client, args ...string) any {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	reply, err := client.Do(ctx, client.B().Arbitrary(args[0]).Args(args[1:]...).Build()).ToAny()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	require.NoError(t, err, "command %q", args)
	return reply
}
