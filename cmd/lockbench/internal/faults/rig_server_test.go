package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/subprocess"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/wire"
)

func TestMain(m *testing.M) {
	subprocess.Serve(context.Background())
	goleak.VerifyTestMain(m)
}

// unresponsive reports whether a server does not reply to PING soon.
func unresponsive(addr string) bool { return !answers(addr, 300*time.Millisecond) }

// responsive reports whether a server replies at all, even late.
func responsive(addr string) bool { return answers(addr, 20*time.Second) }

func answers(addr string, within time.Duration) bool {
	_, err := wire.Ask(context.Background(), addr, within, "PING")
	return err == nil
}

// rigOf applies faults to servers of their own, removed with the test.
func rigOf(t *testing.T, servers int, texts ...string) (*faults.Rig, []*redisserver.Server) {
	t.Helper()
	list := parse(t, texts...)
	masters := redistest.MastersWith(t, servers, redisserver.Options{Args: faults.ServerArgs(list)})
	rig, err := faults.NewRig(list, masters)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rig.Close()) })
	return rig, masters
}

func TestAStopWithoutTimesBeginsASecondBeforeTheMeasuredTimeAndEndsWithTheRun(t *testing.T) {
	rig, servers := rigOf(t, 2, "stop:2")
	require.Equal(t, redistest.Addrs(servers), rig.Addrs())
	for range 2 {
		require.True(t, responsive(servers[1].Addr()))
		end := rig.Begin(time.Now().Add(time.Second+50*time.Millisecond), nil) // stops after 50 ms
		await.True(t, func() bool { return unresponsive(servers[1].Addr()) }, "stopped")
		require.True(t, responsive(servers[0].Addr()))
		bands, err := end()
		require.NoError(t, err)
		require.Len(t, bands, 1)
		require.GreaterOrEqual(t, bands[0].FromS, -1.0) // a busy machine is late, never early
		require.Less(t, bands[0].FromS, 0.0)
		require.Greater(t, bands[0].ToS, bands[0].FromS)
		require.True(t, responsive(servers[1].Addr()))
	}

	end := rig.Begin(time.Now().Add(time.Hour), nil) // a run that ends before its fault
	bands, err := end()
	require.NoError(t, err)
	require.Empty(t, bands)
	require.True(t, responsive(servers[1].Addr()))
}

func TestTheProxyIsInFrontOfItsMasterOnly(t *testing.T) {
	rig, servers := rigOf(t, 2, "delay:1:30ms")
	require.NotEqual(t, servers[0].Addr(), rig.Addrs()[0])
	require.Equal(t, servers[1].Addr(), rig.Addrs()[1])

	start := time.Now()
	require.True(t, responsive(rig.Addrs()[0]))
	require.GreaterOrEqual(t, time.Since(start), 30*time.Millisecond)
}

// all waits until it is so of each master.
func all(t *testing.T, rig *faults.Rig, what string, is func(addr string) bool) {
	for _, addr := range rig.Addrs() {
		await.True(t, func() bool { return is(addr) }, what)
	}
}

func TestFaultsComeAndGoInTheirTime(t *testing.T) {
	rig, servers := rigOf(t, 3, "stop:1@100ms-6s", "kill:2@100ms-6s", "delay:3:1s@100ms-6s")
	pid := servers[1].PID()
	end := rig.Begin(time.Now(), nil)
	all(t, rig, "unresponsive", unresponsive) // late by more than that, too
	all(t, rig, "healed", func(addr string) bool { return !unresponsive(addr) })
	require.NotEqual(t, pid, servers[1].PID())
	bands, err := end()
	require.NoError(t, err)
	require.Len(t, bands, 3)
	for _, b := range bands {
		require.GreaterOrEqual(t, b.FromS, 0.1, b) // a busy machine is late, never early
		require.GreaterOrEqual(t, b.ToS, 6.0, b)
		require.Less(t, b.FromS, 6.0, b)
	}
}

func TestFaultsEndWithTheRun(t *testing.T) {
	rig, _ := rigOf(t, 3, "stop:1@100ms-30s", "kill:2@100ms-30s", "delay:3:1m@100ms-30s")
	end := rig.Begin(time.Now(), nil)
	all(t, rig, "unresponsive", unresponsive)
	bands, err := end()
	require.NoError(t, err)
	require.Len(t, bands, 3)
	for _, addr := range rig.Addrs() {
		require.True(t, responsive(addr))
	}
}

func TestEventsHaveNoLength(t *testing.T) {
	rig, servers := rigOf(t, 3, "restart:1@50ms", "flush:2@50ms")
	for _, s := range servers {
		redistest.Command(t, s, "SET", "lock", "x")
	}
	pid := servers[0].PID()
	end := rig.Begin(time.Now(), nil)
	await.True(t, func() bool { return servers[0].PID() != pid && responsive(servers[0].Addr()) }, "restarted")
	await.True(t, func() bool { return redistest.Command(t, servers[1], "GET", "lock") == nil }, "emptied")
	bands, err := end()
	require.NoError(t, err)
	require.Len(t, bands, 2)
	require.Nil(t, redistest.Command(t, servers[0], "GET", "lock"))
	require.Equal(t, "x", redistest.Command(t, servers[2], "GET", "lock"))
}
