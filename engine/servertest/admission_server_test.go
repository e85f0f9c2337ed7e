package servertest

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/fencing"
	"muxlock/internal/redisserver"
	"muxlock/internal/redlock"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// leaseWait is how long a restarted master has no vote, with shortLease.
var leaseWait = redlock.RestartWait(2*await.Patience, redlock.DefaultDrift)

// admitted returns how many masters are members that vote.
func admitted(t testing.TB, masters []*redisserver.Server) (n int) {
	t.Helper()
	var members []admin.Member
	require.NoError(t, again(func() (err error) {
		members, err = admin.Members(t.Context(), shortConfig(masters))
		return err
	}))
	for _, m := range members {
		if m.Admitted {
			n++
		}
	}
	return n
}

// untilAdmitted waits until all masters are members that vote. Each look reads all their registers, so there are few.
func untilAdmitted(t testing.TB, masters []*redisserver.Server) {
	t.Helper()
	await.Within(t, time.Minute, func() bool { return admitted(t, masters) == len(masters) })
}

// fence acquires and releases a lock, and returns its fence.
func fence(t testing.TB, e *engine.Engine, name string) uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	lock, err := e.Acquire(ctx, name, 0)
	require.NoError(t, err)
	require.NoError(t, lock.Release(t.Context()))
	return lock.Fence()
}

// tokenOf returns what a master has in the register of a name.
func tokenOf(t testing.TB, m *redisserver.Server, name string) uint64 {
	t.Helper()
	text, _ := redistest.Command(t, m, "HGET", "__muxlock__:registers", strconv.Itoa(fencing.Register(name))).(string)
	value, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return value
}

func TestMastersThatLostTheirDataAreAdmittedAgainAndFencesGoOn(t *testing.T) {
	t.Parallel()
	restart := func(t *testing.T, m, _ *redisserver.Server) {
		require.NoError(t, m.Kill())
		require.NoError(t, m.Restart(t.Context()))
	}
	flush := func(t *testing.T, m, _ *redisserver.Server) { redistest.Command(t, m, "FLUSHALL") }
	copied := func(t *testing.T, m, other *redisserver.Server) {
		replicaOf(t, m, other)
		redistest.Command(t, m, "REPLICAOF", "NO", "ONE")
	}
	const durably, byAProcessThatStarts = true, true // only where it was no restart
	for what, loss := range map[string]struct {
		lose            func(t *testing.T, m, other *redisserver.Server)
		durable, starts bool
	}{
		"restart":                       {lose: restart},
		"flush":                         {flush, durably, false},
		"flush that nobody saw":         {flush, durably, byAProcessThatStarts},
		"another's data":                {copied, durably, false},
		"another's data, nobody saw it": {copied, durably, byAProcessThatStarts},
		"another's data, the trace is wiped out": {func(t *testing.T, m, other *redisserver.Server) {
			redistest.Command(t, m, "CONFIG", "SET", "repl-backlog-ttl", "1")
			copied(t, m, other)
		}, durably, false},
		"another run_id": {func(t *testing.T, m, _ *redisserver.Server) {
			redistest.Command(t, m, "SET", "__muxlock__:admitted", "another")
		}, false, byAProcessThatStarts},
		"an old snapshot": {lose: func(t *testing.T, m, _ *redisserver.Server) {
			redistest.Command(t, m, "SAVE")
			saved := redistest.Command(t, m, "HGET", "__muxlock__:registers", "0")
			redistest.Command(t, m, "HINCRBY", "__muxlock__:registers", "0", "77")
			restart(t, m, nil)
			require.Equal(t, saved, redistest.Command(t, m, "HGET", "__muxlock__:registers", "0"), "as it was saved")
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && loss.starts {
				t.Skip("nothing runs beside the loss")
			}
			changes := []func(*engine.Config){fenced, shortLease}
			if loss.durable {
				changes = append(changes, durable)
			}
			masters := shortSet(t, 3)
			e := open(t, masters, changes...)
			var last uint64
			for range 50 { // so that a register that starts again would be far behind
				f := fence(t, e, t.Name())
				require.Greater(t, f, last)
				last = f
			}
			// Each in turn: were one admitted without the registers of the others, a quorum
			// would have forgotten in the end.
			turns := masters[:2]
			if testing.Short() {
				turns = masters[:1]
			}
			for i, m := range turns {
				begun := time.Now()
				if loss.starts {
					require.NoError(t, e.Close())
				}
				loss.lose(t, m, masters[(i+1)%3])
				if loss.starts {
					e = open(t, masters, changes...)
				}
				f := fence(t, e, t.Name()) // the others serve
				require.Greater(t, f, last)
				last = f
				await.True(t, func() bool { return redistest.Command(t, m, "GET", "__muxlock__:ticket") != nil })
				redistest.Command(t, m, "HDEL", "__muxlock__:registers", strconv.Itoa(fencing.Register(t.Name())))
				untilAdmitted(t, masters)
				require.GreaterOrEqual(t, time.Since(begun), leaseWait)
				require.GreaterOrEqual(t, tokenOf(t, m, t.Name()), last>>16, "as the others have")
				require.Greater(t, fence(t, open(t, masters, changes...), t.Name()), last, i)
				last = fence(t, e, t.Name())
			}
		})
	}
}

// refusedAsOfAnotherSet waits until an engine knows why it gets no lock any more.
func refusedAsOfAnotherSet(t testing.TB, e *engine.Engine) {
	t.Helper()
	await.True(t, func() bool {
		lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
		require.Nil(t, lock)
		require.ErrorIs(t, err, engine.ErrNotAcquired)
		return errors.Is(err, engine.ErrConfigMismatch)
	})
}

// votesOn returns how many masters an engine counts.
func votesOn(e *engine.Engine) (n int) {
	for _, m := range e.Stats().Masters {
		if m.Up && m.Cause == nil {
			n++
		}
	}
	return n
}

func TestDurableMasterThatWasRestartedVotesAtOnce(t *testing.T) {
	t.Parallel()
	masters := redistest.MastersWith(t, 3, redisserver.Options{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}})
	cfg := engine.Config{Masters: redistest.Addrs(masters), MasterTimeout: 4 * await.Patience} // MaxTTL is 30 s
	require.NoError(t, admin.SetUp(t.Context(), cfg, admin.SetUpOptions{MastersAreNew: true}))
	e := open(t, masters, fenced, durable)
	last := fence(t, e, t.Name())
	held, err := e.Acquire(t.Context(), "held", 20*time.Second)
	require.NoError(t, err)
	everywhere(t, masters, held)
	for _, m := range masters { // all of them: none can restore another
		require.NoError(t, m.Kill())
	}
	for _, m := range masters {
		require.NoError(t, m.Restart(t.Context()))
	}
	require.Greater(t, fence(t, e, t.Name()), last)
	_, err = open(t, masters, fenced, durable).TryAcquire(t.Context(), "held", 0)
	require.ErrorIs(t, err, engine.ErrTaken)
	require.True(t, held.Valid())
	require.NoError(t, held.Release(t.Context()))
}

// Another process then gets the same token from all, in one round trip.
func TestLateMasterThatIsSparedAcquiresHasTheirRegisters(t *testing.T) {
	t.Parallel()
	masters := fencedSet(t, 3)
	e, links := bent(t, masters, fenced, masterTimeout(4*await.Patience-time.Second))
	links[2].HoldReplies(true)
	for range 50 {
		cycle(t, e, t.Name())
	}
	links[2].HoldReplies(false)
	quiet(t, e)
	require.Less(t, calls(t, masters[2], "mget"), calls(t, masters[0], "mget"), "it was spared some")
	require.Equal(t, tokenOf(t, masters[0], t.Name()), tokenOf(t, masters[2], t.Name()))
}
