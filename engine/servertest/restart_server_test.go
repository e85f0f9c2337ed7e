package servertest

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/redlock"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// shortWait makes the wait after a restart 9 s. A master restarts within the 8 s of a lease.
func shortWait(c *engine.Config) { c.MaxTTL, c.TTL = 8*time.Second, 8*time.Second }

func TestMasterRestartedEmptyWithinALeaseMakesNoSecondHolder(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	holder, links := bent(t, masters, shortWait)
	other := open(t, masters, shortWait)
	links[2].RefuseDials(true)
	links[2].Cut()
	await.Equal(t, 2, func() any { return upMasters(holder) })
	cycle(t, other, t.Name())
	redistest.Gone(t, masters, t.Name()) // the verdict of a release comes from a quorum

	lock, err := holder.TryAcquire(t.Context(), t.Name(), 0) // on the first two
	require.NoError(t, err)
	everywhere(t, masters[:2], lock)
	times := setAside(other, 1)
	killed := time.Now()
	require.NoError(t, masters[1].Kill()) // and the second forgets it
	require.NoError(t, masters[1].Restart(t.Context()))
	meant := 0 // attempts that only the wait made fail
	for {
		admitted := back(other, 1, times)
		second, err := other.TryAcquire(t.Context(), t.Name(), 0)
		if valid := lock.Valid(); err == nil {
			require.False(t, valid, "two holders")
			require.NoError(t, second.Release(t.Context()))
			break
		} else if admitted && valid {
			meant++
			require.ErrorIs(t, err, engine.ErrNoQuorum)
			require.ErrorIs(t, err, engine.ErrRestarted)
			require.Regexp(t, masters[1].Addr()+`: restarted: no vote for another (\d(\.\d)?s|\d00ms), until every lease it may have forgotten has run out`, err.Error())
		}
		time.Sleep(5 * time.Millisecond)
	}
	require.Positive(t, meant, "it came back inside the lease")
	require.Empty(t, redistest.Keys(t, masters[1]))

	await.True(t, func() bool { return other.Stats().Masters[1].VotesFrom.IsZero() })
	require.Greater(t, time.Since(killed), redlock.RestartWait(8*time.Second, redlock.DefaultDrift))
	late := heldEverywhere(t, other, masters, 0)
	require.NoError(t, late.Release(t.Context()))
}

func TestAcquireOutlastsTheWaitOfARestartedMajority(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	e := open(t, masters, shortWait)
	begin := time.Now()
	for _, m := range masters[:2] {
		require.NoError(t, m.Kill())
		require.NoError(t, m.Restart(t.Context()))
	}
	lock, err := e.Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.Greater(t, time.Since(begin), redlock.RestartWait(8*time.Second, redlock.DefaultDrift))
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters, t.Name())
}

func TestEngineStartsBesideItsMastersAndWaitsForThem(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	e := open(t, masters, shortWait, func(c *engine.Config) { c.MastersAreNew = false })
	_, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.ErrorIs(t, err, engine.ErrRestarted)
	var attempt *engine.AttemptError
	require.True(t, errors.As(err, &attempt))
	require.Regexp(t, `started \ds ago: no vote for another ([1-9](\.\d)?s|\d00ms)`, attempt.Causes[0].Error())
	lock, err := e.Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NoError(t, lock.Release(t.Context()))
	// By now they have been up for long enough to be trusted at once.
	await.True(t, func() bool {
		later := open(t, masters, shortWait, func(c *engine.Config) { c.MastersAreNew = false })
		_, err := later.TryAcquire(t.Context(), fmt.Sprint(t.Name(), time.Now().UnixNano()), 0)
		return err == nil
	})
}

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

func TestMasterThatWasAReplicaMeanwhileHasNoSecondHolder(t *testing.T) {
	t.Parallel()
	all := redistest.MastersWith(t, 4, redisserver.Options{Args: []string{"--repl-diskless-sync-delay", "0"}}) // keeps their folders
	masters, other := all[:3], all[3]
	first := open(t, masters, masterTimeout(5*time.Second))
	second := open(t, masters, masterTimeout(5*time.Second))
	lock := heldEverywhere(t, first, masters, 25*time.Second)
	for _, m := range masters[:2] {
		replicaOf(t, m, other)
		redistest.Command(t, m, "REPLICAOF", "NO", "ONE")
		require.Nil(t, redistest.Command(t, m, "GET", t.Name()), "its data were replaced")
	}
	waiting := func() bool {
		masters := second.Stats().Masters
		return !masters[0].VotesFrom.IsZero() && !masters[1].VotesFrom.IsZero()
	}
	await.True(t, waiting, "both are back and wait")
	for range 10 {
		_, err := second.TryAcquire(t.Context(), t.Name(), 0)
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		require.ErrorIs(t, err, engine.ErrRestarted)
	}
	require.True(t, lock.Valid())
}
