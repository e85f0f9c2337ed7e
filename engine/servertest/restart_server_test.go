package servertest

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// shortWait makes the wait after a restart 9 s. A master restarts within the 8 s of a lease.
func shortWait(c *engine.Config) { c.MaxTTL, c.TTL = 8*time.Second, 8*time.Second }

// replicaOf makes a master a replica of another server and waits until it has its data.
func replicaOf(t *testing.T, m, other *redisserver.Server) {
	t.Helper()
	host, port, err := net.SplitHostPort(other.Addr())
	require.NoError(t, err)
	redistest.Command(t, m, "REPLICAOF", host, port)
	await.True(t, func() bool {
		return strings.Contains(redistest.Command(t, m, "INFO", "replication").(string), "master_link_status:up")
	})
}

func TestReadySaysWhoDoesNotVoteAndWhyAndForHowLong(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	e := open(t, masters, shortWait, func(c *engine.Config) { c.MastersAreNew = false })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := e.Ready(ctx)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.ErrorIs(t, err, engine.ErrRestarted)
	require.ErrorIs(t, err, context.Canceled)
	for _, m := range masters {
		require.Regexp(t, m.Addr()+`: started \d+s ago: no vote for another (\d(\.\d)?s|\d00ms)`, err.Error())
	}
	require.Regexp(t, `no quorum of masters: 0 of 3 masters vote, 2 are needed, in (\d(\.\d)?s|\d00ms); `, err.Error())
	require.NoError(t, e.Ready(t.Context()))
	cycle(t, e, t.Name())
	require.NoError(t, e.Ready(ctx), "it is")
	require.NoError(t, e.Close())
	require.Equal(t, engine.ErrClosed, e.Ready(t.Context()))
}
