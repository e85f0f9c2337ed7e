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

func TestRegisterThatHoldsNoTokenIsRefusedAndNothingIsLocked(t *testing.T) {
	t.Parallel()
	masters := fencedSet(t, 3)
	e := open(t, masters, fenced)
	for _, value := range []string{"text", "-1", "1.5", "nan", "137438953471", "1e30"} {
		name := t.Name() + value
		register := strconv.Itoa(fencing.Register(name))
		redistest.Command(t, masters[0], "HSET", "__muxlock__:registers", register, value)
		lock, err := e.TryAcquire(t.Context(), name, 0)
		require.NoError(t, err, "the others carry on")
		require.NoError(t, lock.Release(t.Context()))
		redistest.Command(t, masters[1], "HSET", "__muxlock__:registers", register, value)
		_, err = e.TryAcquire(t.Context(), name, 0)
		require.ErrorIs(t, err, engine.ErrRegister, value)
		require.ErrorIs(t, err, engine.ErrNotAcquired)
		require.ErrorContains(t, err, "register "+register)
		quiet(t, e)
		require.NotContains(t, redistest.Keys(t, masters...), name)
	}
	require.Equal(t, 3, upMasters(e))
	for _, key := range []string{"__muxlock__:registers", t.Name()} {
		redistest.Command(t, masters[2], "DEL", key)
		redistest.Command(t, masters[2], "RPUSH", key, "a list")
	}
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NotZero(t, lock.Fence())
	require.NoError(t, lock.Release(t.Context()))
}

func TestFlushDuringAnAdmissionStartsItAgain(t *testing.T) {
	t.Parallel()
	masters := shortSet(t, 3)
	engines := []*engine.Engine{open(t, masters, fenced, shortLease), open(t, masters, fenced, shortLease)}
	last := fence(t, engines[0], t.Name())
	flush := func() time.Time {
		now := time.Now() // an engine may find the master empty before the test has its reply
		redistest.Command(t, masters[0], "FLUSHALL")
		last = max(last, fence(t, engines[0], t.Name()), fence(t, engines[1], t.Name()))
		return now
	}
	begun := flush()
	await.True(t, func() bool { return redistest.Command(t, masters[0], "GET", "__muxlock__:ticket") != nil })
	time.Sleep(time.Until(begun.Add(leaseWait / 2))) // in the middle of the wait
	begun = flush()
	untilAdmitted(t, masters)
	require.GreaterOrEqual(t, time.Since(begun), leaseWait, "counted from the second flush")
	for _, e := range engines {
		await.Equal(t, 3, func() any { return votesOn(e) }, "both find the mark, whoever made it")
		f := fence(t, e, t.Name())
		require.Greater(t, f, last)
		last = f
	}
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

func TestAdmissionThatIsCutAnywhereGoesOn(t *testing.T) {
	t.Parallel()
	masters := shortSet(t, 3)
	e, links := bent(t, masters, fenced, shortLease)
	last := fence(t, e, t.Name())
	redistest.Command(t, masters[0], "FLUSHALL")
	for begin := time.Now(); time.Since(begin) < leaseWait+2*time.Second; { // through all of its steps, at the masters that take part
		for _, l := range links {
			l.Cut()
		}
		require.LessOrEqual(t, admitted(t, masters), 3)
		await.Equal(t, 3, func() any { return upMasters(e) })
	}
	untilAdmitted(t, masters)
	await.Equal(t, 3, func() any { return votesOn(e) })
	require.Greater(t, fence(t, e, t.Name()), last)
}

func TestMasterThatLeavesWhileTheOthersAreReadIsAdmittedLater(t *testing.T) {
	t.Parallel()
	masters := shortSet(t, 3)
	e, links := bent(t, masters, fenced, shortLease)
	redistest.Command(t, masters[0], "FLUSHALL")
	fence(t, e, t.Name())
	await.True(t, func() bool { return redistest.Command(t, masters[0], "GET", "__muxlock__:ticket") != nil })
	time.Sleep(leaseWait - 200*time.Millisecond) // ends while the others' answers take long
	for _, l := range links[1:] {
		l.Delay(700 * time.Millisecond)
	}
	for range 10 {
		time.Sleep(50 * time.Millisecond)
		links[0].Cut()
		await.Equal(t, 3, func() any { return upMasters(e) })
	}
	for _, l := range links[1:] {
		l.Delay(0)
	}
	untilAdmitted(t, masters)
	await.Equal(t, 3, func() any { return votesOn(e) })
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

func TestMasterThatEvictsKeysIsNotUsedForFencing(t *testing.T) {
	t.Parallel()
	masters := fencedSet(t, 1)
	redistest.Command(t, masters[0], "CONFIG", "SET", "maxmemory", "1gb")
	cycle(t, open(t, masters, fenced), t.Name()) // noeviction: it refuses
	redistest.Command(t, masters[0], "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	_, err := engine.New(t.Context(), with(setUpConfig(masters), fenced))
	require.ErrorIs(t, err, engine.ErrInvalid)
	require.ErrorContains(t, err, "maxmemory-policy must be noeviction")
	cycle(t, open(t, masters), t.Name())
}
