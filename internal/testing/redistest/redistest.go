// Package redistest gives tests real masters, and commands to look into them.
package redistest

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
)

// RequireEnv names an environment variable. If it is 1, a missing server program fails a test instead of skipping it.
const RequireEnv = "MUXLOCK_REQUIRE_REDIS"

// QuickEnv names an environment variable. If it is 1, tests that start a server or another process are skipped.
const QuickEnv = "MUXLOCK_QUICK"

// limit bounds each command and each start.
const limit = time.Minute

// Masters starts n masters and stops them at cleanup. Without a server program it skips the test, or fails it if RequireEnv
// is 1.
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
	NeedProcess(t)
	if _, err := redisserver.Binary(); errors.Is(err, redisserver.ErrNoBinary) && os.Getenv(RequireEnv) != "1" {
		t.Skip(err)
	}
}

// NeedProcess skips a test that starts a process if QuickEnv is 1.
func NeedProcess(t testing.TB) {
	t.Helper()
	if os.Getenv(QuickEnv) == "1" {
		t.Skip("starts a process")
	}
}

// Down kills a master, for the rest of the test or until the function that Down returns has started it again. Meanwhile the
// port refuses connections, and is kept: else a server of another test may get it, and answer.
func Down(t testing.TB, master *redisserver.Server) (up func()) {
	t.Helper()
	local, err := net.ResolveTCPAddr("tcp", master.Addr())
	require.NoError(t, err)
	elsewhere, err := net.Listen("tcp", "127.0.0.1:0") // before the master's end, or it may get the master's port
	require.NoError(t, err)
	require.NoError(t, master.Kill())
	t.Cleanup(func() { elsewhere.Close() })
	keeper, err := (&net.Dialer{LocalAddr: local, Control: func(_, _ string, c syscall.RawConn) error {
		return reuse(c, 1) // connections of the master may linger there
	}}).Dial("tcp", elsewhere.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { keeper.Close() })
	raw, err := keeper.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, reuse(raw, 0))
	return func() {
		t.Helper()
		require.NoError(t, reuse(raw, 1)) // the master may listen beside the keeper; nobody is given the port as a free one
		require.NoError(t, master.Restart(t.Context()))
		require.NoError(t, keeper.Close())
	}
}

// reuse sets whether a socket may share its port with the remains of closed connections.
func reuse(c syscall.RawConn, on int) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, on)
	})
	return errors.Join(err, failed)
}

// Addrs returns the addresses of masters, in order.
func Addrs(masters []*redisserver.Server) []string {
	addrs := make([]string, len(masters))
	for i, m := range masters {
		addrs[i] = m.Addr()
	}
	return addrs
}

// Command sends one command to one master, over a new connection, and returns the reply: string, int64, []any, or nil. An
// error reply fails the test, and so does a reply that does not come in time.
func Command(t testing.TB, master *redisserver.Server, args ...string) any {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{master.Addr()},
		Password:          master.Password(),
		ForceSingleClient: true,
		DisableCache:      true,
		DisableRetry:      true,
		AlwaysRESP2:       true, // gives replies one shape
		ConnWriteTimeout:  limit,
		// For one command. The ring of rueidis's default takes a megabyte, and most of the time.
		RingScaleEachConn: 1, ReadBufferEachConn: 4096, WriteBufferEachConn: 4096, ClientSetInfo: rueidis.DisableClientSetInfo,
	})
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	reply, err := client.Do(ctx, client.B().Arbitrary(args[0]).Args(args[1:]...).Build()).ToAny()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	require.NoError(t, err, "command %q", args)
	return reply
}

// Keys returns the keys of all masters, sorted. A key on k masters occurs k times.
func Keys(t testing.TB, masters ...*redisserver.Server) []string {
	t.Helper()
	var keys []string
	for _, m := range masters {
		for _, key := range Command(t, m, "KEYS", "*").([]any) {
			keys = append(keys, key.(string))
		}
	}
	slices.Sort(keys)
	return keys
}
