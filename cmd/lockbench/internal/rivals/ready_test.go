package rivals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/engine"
	"muxlock/internal/testing/redistest"
)

func TestMastersThatDoNotVoteYetAreAReasonAndATime(t *testing.T) {
	impl, _ := rivals.Find("muxlock")
	o := rivals.Options{Masters: redistest.Addrs(redistest.Masters(t, 3)), TTL: ttl, Workers: 1}
	_, err := impl.Open(t.Context(), o)
	require.ErrorIs(t, err, engine.ErrRestarted)
	require.Regexp(t, `^0 of 3 masters vote, 2 are needed, in \d+(\.\d)?s; .*no vote for another .*--new-masters`, err.Error())

	o.Joins = true
	locker, err := impl.Open(t.Context(), o)
	require.NoError(t, err, "it waits for them")
	require.NoError(t, locker.Close())
}
