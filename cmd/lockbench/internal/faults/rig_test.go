package faults_test

import (
	"bufio"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/internal/redistest"
)

// answers tells whether a server replies to PING soon.
func answers(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	return err == nil && line == "+PONG\r\n"
}

func TestRigStopsAMasterBeforeTheWarmupEndsAndLetsItGoOn(t *testing.T) {
	servers := redistest.Masters(t, 2)
	rig, err := faults.NewRig([]faults.Fault{{Kind: faults.Stop, Master: 1}}, servers)
	require.NoError(t, err)
	defer rig.Close()
	require.Equal(t, redistest.Addrs(servers), rig.Addrs())

	const warmup = time.Second + 50*time.Millisecond // stops after 50 ms
	for range 2 {
		require.True(t, answers(servers[1].Addr()))
		end := rig.Begin(warmup)
		require.Eventually(t, func() bool { return !answers(servers[1].Addr()) }, warmup, time.Millisecond)
		require.True(t, answers(servers[0].Addr()))
		require.NoError(t, end())
	}

	end := rig.Begin(time.Hour) // a run that ends before its fault
	require.NoError(t, end())
	require.True(t, answers(servers[1].Addr()))
}

func TestRigPutsTheProxyInFrontOfItsMasterOnly(t *testing.T) {
	servers := redistest.Masters(t, 2)
	rig, err := faults.NewRig([]faults.Fault{{Kind: faults.Delay, Master: 0, Delay: 30 * time.Millisecond}}, servers)
	require.NoError(t, err)
	defer rig.Close()
	require.NotEqual(t, servers[0].Addr(), rig.Addrs()[0])
	require.Equal(t, servers[1].Addr(), rig.Addrs()[1])

	start := time.Now()
	require.True(t, answers(rig.Addrs()[0]))
	require.GreaterOrEqual(t, time.Since(start), 30*time.Millisecond)
}
