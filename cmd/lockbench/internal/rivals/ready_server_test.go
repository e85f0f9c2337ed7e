package rivals_test

import (
	"testing"
	"time"

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

func TestMastersThatWereStartedForTheRunGetSeveralTries(t *testing.T) {
	impl, _ := rivals.Find("muxlock")
	master := redistest.Masters(t, 1)[0]
	o := rivals.Options{Masters: []string{master.Addr()}, TTL: ttl, Workers: 1, MasterTimeout: 500 * time.Millisecond}
	require.NoError(t, master.Pause())
	_, err := impl.Open(t.Context(), o)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	o.NewMasters = true
	time.AfterFunc(700*time.Millisecond, func() { _ = master.Resume() })
	locker, err := impl.Open(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, locker.Close())
}
