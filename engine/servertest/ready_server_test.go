package servertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/redistest"
)

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
