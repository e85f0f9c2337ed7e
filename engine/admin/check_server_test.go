package admin

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// levelsOf returns the worst level of each thing that Check looked at and did not find good.
func levelsOf(t *testing.T, r Report) map[string]Level {
	t.Helper()
	bad := make(map[string]Level)
	for _, f := range r.Findings {
		if f.Level != LevelOK {
			bad[f.Check] = max(bad[f.Check], f.Level)
		}
	}
	delete(bad, "same machine")  // they share this one
	delete(bad, "slow commands") // as it is busy
	return bad
}

func mustCheck(t *testing.T, e *engine.Engine) Report {
	t.Helper()
	r, err := Check(t.Context(), e)
	require.NoError(t, err)
	return r
}

func TestCheckRefusesMastersThatThrowLocksAway(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	redistest.Command(t, masters[1], "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
	r := mustCheck(t, open(t, masters))
	require.Equal(t, map[string]Level{"eviction": LevelFail}, levelsOf(t, r))
	require.EqualError(t, r.Err(), "muxlock: masters are not fit to lock on: eviction (master 2): allkeys-lru: when memory runs out locks are thrown away that somebody holds -> CONFIG SET maxmemory-policy noeviction")
}

var onDisk = redisserver.Options{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}}

func TestCheckHoldsMastersAreDurableAgainstTheMasters(t *testing.T) {
	t.Parallel()
	r := mustCheck(t, open(t, redistest.Masters(t, 1), durable))
	require.Equal(t, map[string]Level{"how many": LevelWarn, "durable": LevelFail}, levelsOf(t, r))
	require.ErrorContains(t, r.Err(), "MastersAreDurable")

	always := redistest.MastersWith(t, 1, onDisk)
	require.Equal(t, map[string]Level{"how many": LevelWarn}, levelsOf(t, mustCheck(t, open(t, always, durable))))
	redistest.Command(t, always[0], "CONFIG", "SET", "appendfsync", "everysec")
	require.ErrorIs(t, mustCheck(t, open(t, always, durable)).Err(), ErrUnfit)
}

func TestCheckNeedsNoRightThatLocksDoNotAndShowsNoPassword(t *testing.T) {
	t.Parallel()
	masters := redistest.MastersWith(t, 1, onDisk)
	e := open(t, masters, least(t, masters), durable)
	r := mustCheck(t, e)
	require.Equal(t, map[string]Level{"how many": LevelWarn, "lines": LevelWarn, "durable": LevelUnknown, "persistence": LevelUnknown, "limits": LevelUnknown}, levelsOf(t, r))
	require.NoError(t, r.Err())
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotContains(t, string(text), "PASSWORD")

	redistest.Command(t, masters[0], "ACL", "SETUSER", "locks", ">other", "<PASSWORD")
	text, err = json.Marshal(mustCheck(t, e))
	require.NoError(t, err)
	require.Contains(t, string(text), "WRONGPASS")
	require.NotContains(t, string(text), "PASSWORD")
}

func TestCheckEndsWithItsContextAndAfterClose(t *testing.T) {
	t.Parallel()
	e, err := engine.New(t.Context(), engine.Config{Masters: redistest.Addrs(five(t))})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Check(ctx, e)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, e.Close())
	_, err = Check(t.Context(), e)
	require.ErrorIs(t, err, engine.ErrClosed)
}

// One member is down and another has lost its data.
func TestAVoteThatNoTimeBringsBackFailsTheCheck(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	fenced := func(c *engine.Config) { c.Fencing, c.MastersAreNew = true, false }
	require.NoError(t, SetUp(t.Context(), engine.Config{Masters: redistest.Addrs(masters), MasterTimeout: await.Patience}, SetUpOptions{MastersAreNew: true}))
	e := open(t, masters, fenced)
	redistest.Command(t, masters[2], "FLUSHALL")
	found := func() map[string]Level {
		_, _ = e.TryAcquire(t.Context(), "name", 0)
		return levelsOf(t, mustCheck(t, e))
	}
	await.Equal(t, map[string]Level{"vote": LevelWarn}, func() any { return found() }, "it waits")
	redistest.Down(t, masters[1])
	await.True(t, func() bool { return found()["vote"] == LevelFail })
	require.Regexp(t, `vote \(master 3\): none: lost its data or was restarted: .* -> bring back the masters that are away, with their data; if they cannot come back: muxlock masters init --recover$`, mustCheck(t, e).Err())
}
