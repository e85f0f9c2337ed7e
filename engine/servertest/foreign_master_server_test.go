package servertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/pipeline"
)

// A process without fencing that names a part of a set would hold a name beside one that names all of it.
func TestPartOfASetIsRefusedAndTheWholeStarts(t *testing.T) {
	masters := fencedSet(t, 3)
	held := mustAcquire(t, open(t, masters), t.Name(), 0)
	for _, part := range [][]*redisserver.Server{masters[:1], masters[1:2], masters[:2], masters[1:]} {
		_, err := engine.New(t.Context(), engine.Config{Masters: redistest.Addrs(part), MastersAreNew: true, MasterTimeout: await.Patience})
		for _, text := range []string{"number of Masters: here " + fmt.Sprint(len(part)), "at the master 3", masters[0].Addr()} {
			require.ErrorContains(t, err, text)
		}
		require.ErrorIs(t, err, engine.ErrConfigMismatch)
	}
	again := open(t, masters, func(c *engine.Config) {
		for i := range c.Masters { // spelling does not matter
			c.Masters[i] = strings.Replace(c.Masters[i], "127.0.0.1", "localhost", 1)
		}
	})
	_, err := again.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, engine.ErrTaken)
	require.NoError(t, held.Release(t.Context()))
}

func TestMasterOfOtherMastersCastsNoVote(t *testing.T) {
	masters, others := fencedSet(t, 3), fencedSet(t, 3)
	e := open(t, []*redisserver.Server{masters[0], masters[1], others[2]})
	lock := mustAcquire(t, e, t.Name(), 0)
	held, total := lock.HeldOn()
	require.Equal(t, []int{2, 3}, []int{held, total})
	require.ErrorIs(t, e.Stats().Masters[2].Cause, engine.ErrConfigMismatch)
	require.Zero(t, e.Stats().Masters[2].VotesFrom)
	require.Empty(t, redistest.Get(t, others[2:], t.Name())[0], "it was asked")
	redistest.Command(t, others[2], "SET", t.Name(), redistest.Get(t, masters, t.Name())[0], "PX", "5000") // an Extend is for longer
	redistest.Command(t, others[2], "CONFIG", "RESETSTAT")
	require.NoError(t, lock.Extend(t.Context(), 0))
	require.NoError(t, lock.Release(t.Context()))
	await.Equal(t, "", func() any { return redistest.Get(t, others[2:], t.Name())[0] }, "releases go to all")
	require.NotContains(t, redistest.Command(t, others[2], "INFO", "commandstats"), "pexpire", "it was asked to extend")
	require.NoError(t, e.Ready(t.Context()))

	redistest.Down(t, masters[0])
	await.True(t, func() bool { return !e.Stats().Masters[0].Up })
	_, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, engine.ErrNoQuorum, "it may come back")
	require.ErrorIs(t, err, engine.ErrConfigMismatch)

	for _, mixed := range [][]*redisserver.Server{{masters[1], others[2]}, {masters[1], others[2], redistest.Masters(t, 1)[0]}} {
		_, err := engine.New(t.Context(), engine.Config{Masters: redistest.Addrs(mixed), MastersAreNew: true, MasterTimeout: await.Patience})
		require.ErrorIs(t, err, engine.ErrConfigMismatch)
	}
}

// The least rights allow the reads. A user with less sees no set.
func TestSetThatMayNotBeReadIsNotSeen(t *testing.T) {
	masters := fencedSet(t, 3)
	rights := slices.Clone(redistest.DocumentedRights(t).Needed)
	_, err := openAs(t, masters[:1], rights)
	require.ErrorIs(t, err, engine.ErrConfigMismatch)
	for i, right := range rights {
		rights[i] = strings.Replace(right, "~"+pipeline.ReservedPrefix+"*", "~"+pipeline.ReservedPrefix+"trial:*", 1)
	}
	e, err := openAs(t, masters[:1], rights)
	require.NoError(t, err)
	cycle(t, e, "locks:a")
}

// cmd/muxlock/RUNBOOK.md says so.
func TestSetThatWasGivenUpIsForgottenWithItsDescription(t *testing.T) {
	masters := fencedSet(t, 3)
	for _, m := range masters {
		redistest.Command(t, m, "DEL", "__muxlock__:set")
	}
	cycle(t, open(t, masters[:1]), t.Name())
	_, err := engine.New(t.Context(), with(setUpConfig(masters), fenced))
	require.ErrorIs(t, err, engine.ErrConfigMismatch)
}

func TestReadOnlyLooksAtAPartOfASet(t *testing.T) {
	masters := fencedSet(t, 3)
	open(t, masters[:1], func(c *engine.Config) { c.ReadOnly = true })
	e := open(t, masters[:1], fenced, func(c *engine.Config) { c.ReadOnly = true })
	_, err := e.Acquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, engine.ErrConfigMismatch)
}
