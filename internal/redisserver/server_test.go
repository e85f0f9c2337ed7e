package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/internal/wire"
)

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		actAsParent()
		return
	}
	goleak.VerifyTestMain(m)
}

// parentEnv makes this test binary a parent for the test to kill. Its value is the folder for the data.
const parentEnv = "MUXLOCK_TEST_PARENT"

// actAsParent starts a server, prints the server's pid, and waits for its end.
func actAsParent() {
	s, err := Start(context.Background(), Options{Dir: os.Getenv(parentEnv)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.PID())
	<-s.proc.done
}

// needServer is redistest.NeedServer, which these tests cannot import.
func needServer(t *testing.T) {
	t.Helper()
	if os.Getenv("MUXLOCK_QUICK") == "1" {
		t.Skip("starts a process")
	}
	if _, err := Binary(); err != nil {
		if os.Getenv("MUXLOCK_REQUIRE_REDIS") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func startOne(t *testing.T, opts Options) *Server {
	t.Helper()
	needServer(t)
	opts.Dir = t.TempDir()
	s, err := Start(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// answers asks again while the server is only late.
func answers(t *testing.T, s *Server) bool {
	t.Helper()
	for end := time.Now().Add(startLimit); ; {
		pid, _, err := ask(t.Context(), s.Addr(), s.Password())
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Now().After(end) {
			return err == nil && pid == s.PID()
		}
	}
}

func TestStopLeavesNoProcessAndNoFolder(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	servers, err := StartN(t.Context(), 3, Options{Dir: dir})
	require.NoError(t, err)
	for _, s := range servers {
		require.True(t, answers(t, s))
		require.False(t, s.proc.gone(), "the check sees a living process")
	}
	requireEmpty(t, dir) // they keep nothing
	kept, err := Start(t.Context(), Options{Dir: dir, Args: []string{"--appendonly", "yes"}})
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	servers = append(servers, kept)

	require.NoError(t, servers[0].Pause())
	require.NoError(t, servers[1].Kill())
	for _, s := range servers {
		begin := time.Now()
		require.NoError(t, s.Stop())
		require.Less(t, time.Since(begin), stopLimit, "no SIGKILL was needed")
		require.True(t, s.proc.gone())
		require.False(t, answers(t, s))
		require.NoError(t, s.Stop(), "again")
		require.ErrorIs(t, s.Pause(), os.ErrProcessDone)
		require.Error(t, s.Restart(t.Context()))
	}
	requireEmpty(t, dir)
}

func TestRestartWaitsForItsPort(t *testing.T) {
	s := startOne(t, Options{})
	require.NoError(t, s.Kill())
	l, err := net.Listen("tcp", s.Addr())
	require.NoError(t, err)
	defer l.Close()
	for limit := 200 * time.Millisecond; limit < time.Minute && !errors.Is(err, errPortTaken); limit *= 2 { // a busy machine starts nothing in less
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err = s.Restart(ctx)
		cancel()
	}
	require.ErrorIs(t, err, errPortTaken)
	l.Close()
	require.NoError(t, s.Restart(t.Context()))
}

// The listener accepts and says nothing, as any program on that port might.
func TestStartTakesAnotherPortWhenTheChosenOneIsTaken(t *testing.T) {
	needServer(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	other := startOne(t, Options{})
	taken := []int{silent.Addr().(*net.TCPAddr).Port, other.port}

	dir := t.TempDir()
	s, err := start(t.Context(), Options{Dir: dir}, func() (int, error) {
		if len(taken) == 0 {
			return freePort()
		}
		port := taken[0]
		taken = taken[1:]
		return port, nil
	})
	require.NoError(t, err)
	defer s.Stop()
	require.Empty(t, taken, "both were tried")
	require.NotEqual(t, silent.Addr().String(), s.Addr())
	require.NotEqual(t, other.Addr(), s.Addr())
	require.True(t, answers(t, s))
	require.True(t, answers(t, other))
}

func TestFailedStartReportsTheLogAndLeavesNothing(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	_, err := StartN(t.Context(), 2, Options{Dir: dir, Args: []string{"--no-such-directive", "1"}})
	require.ErrorContains(t, err, "no-such-directive")
	requireEmpty(t, dir)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Start(ctx, Options{Dir: dir})
	require.ErrorIs(t, err, context.Canceled)
	requireEmpty(t, dir)
}

func TestMissingBinaryIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Start(t.Context(), Options{})
	require.ErrorIs(t, err, ErrNoBinary)
	require.ErrorContains(t, err, "apt-get install redis-server")
}

func TestServerProgramIsTheOneNamedElseRedisElseValkey(t *testing.T) {
	program := func(dir, name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
		return path
	}
	first, second := t.TempDir(), t.TempDir()
	t.Setenv("PATH", first+string(os.PathListSeparator)+second)
	found := func() string {
		path, err := Binary()
		require.NoError(t, err)
		return path
	}
	t.Setenv(BinaryEnv, "")
	valkey := program(first, "valkey-server")
	require.Equal(t, valkey, found())
	redis := program(second, "redis-server")
	require.Equal(t, redis, found(), "though valkey-server comes first on PATH")
	t.Setenv(BinaryEnv, "valkey-server")
	require.Equal(t, valkey, found())
	t.Setenv(BinaryEnv, redis)
	require.Equal(t, redis, found())
	t.Setenv(BinaryEnv, "keydb-server")
	_, err := Binary()
	require.ErrorContains(t, err, BinaryEnv)
	require.NotErrorIs(t, err, ErrNoBinary, "what was asked for is not replaced, nor skipped")
}

func TestTailKeepsTheEnd(t *testing.T) {
	var log tail
	for range 100 {
		log.Write(bytes.Repeat([]byte("a"), 1000))
	}
	log.Write([]byte("the end"))
	require.Len(t, log.String(), tailSize)
	require.True(t, strings.HasSuffix(log.String(), "athe end"))
}

// send sends one command whose reply is a status or a bulk string.
func send(t *testing.T, s *Server, args ...string) string {
	t.Helper()
	reply, err := wire.Ask(t.Context(), s.Addr(), 20*time.Second, args...)
	require.NoError(t, err)
	return reply[0].Text
}

// A server that still reads its data answers INFO, and refuses everything else.
func TestRestartWaitsUntilTheServerHasReadItsData(t *testing.T) {
	s := startOne(t, Options{Args: []string{"--appendonly", "yes", "--appendfsync", "always", "--key-load-delay", "100"}}) // µs
	send(t, s, "EVAL", "for i = 1, 3000 do redis.call('SET', i, 'read') end", "0")
	require.NoError(t, s.Kill())
	require.NoError(t, s.Restart(t.Context()))
	require.Equal(t, "read", send(t, s, "GET", "3000"))
}
