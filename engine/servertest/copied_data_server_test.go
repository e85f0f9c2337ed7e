package servertest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/fencing"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// A member that has another one's data: it knows that one's locks and registers, and has forgotten
// its own.

// heldBeside acquires a name that the last master does not have, and takes it away from nobody.
func heldBeside(t *testing.T, e *engine.Engine, masters []*redisserver.Server, ttl time.Duration) *engine.Lock {
	t.Helper()
	lock := mustAcquire(t, e, t.Name(), ttl)
	everywhere(t, masters, lock)
	redistest.Command(t, masters[len(masters)-1], "DEL", t.Name())
	return lock
}

// Keys of fencing.
const (
	markKey      = "__muxlock__:admitted"
	registersKey = "__muxlock__:registers"
)

func registerOf(name string) string { return strconv.Itoa(fencing.Register(name)) }

// copied gives a master the data of another and makes it a master again.
func copied(t *testing.T, m, other *redisserver.Server) {
	t.Helper()
	replicaOf(t, m, other)
	redistest.Command(t, m, "REPLICAOF", "NO", "ONE")
}

// restarted kills a master, starts it again and waits until it has read its data.
func restarted(t *testing.T, m *redisserver.Server) {
	t.Helper()
	require.NoError(t, m.Kill())
	require.NoError(t, m.Restart(t.Context()))
	await.True(t, func() bool {
		return strings.Contains(redistest.Command(t, m, "INFO", "persistence").(string), "\nloading:0")
	})
}

// notHeldTwice requires that nobody got a lock that is held still, and reports whether it is:
// else nothing was shown.
func notHeldTwice(t *testing.T, lock, second *engine.Lock, err error) bool {
	t.Helper()
	if !lock.Valid() {
		return false
	}
	require.Nil(t, second)
	require.ErrorIs(t, err, engine.ErrNotAcquired)
	return true
}

// calls returns how often a server was sent a command.
func calls(t testing.TB, m *redisserver.Server, command string) (n int) {
	t.Helper()
	stats := redistest.Command(t, m, "INFO", "commandstats").(string)
	_, text, _ := strings.Cut(stats, "cmdstat_"+command+":")
	_, _ = fmt.Sscanf(text, "calls=%d", &n)
	return n
}

func TestDurableMasterThatWasCopiedAndRestartedWaits(t *testing.T) {
	t.Parallel()
	masters := redistest.MastersWith(t, 3, redisserver.Options{Args: []string{"--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0"}})
	require.NoError(t, admin.SetUp(t.Context(), setUpConfig(masters), admin.SetUpOptions{MastersAreNew: true}))
	first := open(t, masters, fenced, durable)
	for range 20 {
		cycle(t, first, t.Name())
	}
	lock := heldBeside(t, first, masters, 25*time.Second)
	redistest.Command(t, masters[2], "HINCRBY", registersKey, registerOf(t.Name()), "-10") // it was late
	redistest.Command(t, masters[1], "CONFIG", "SET", "repl-backlog-ttl", "1")
	copied(t, masters[1], masters[2])
	await.True(t, func() bool {
		return strings.Contains(redistest.Command(t, masters[1], "INFO", "replication").(string), "second_repl_offset:-1")
	}, "no trace of it is left")
	restarted(t, masters[1])
	starts := open(t, masters, fenced, durable)
	for begin := time.Now(); time.Since(begin) < 2*time.Second; {
		second, err := starts.TryAcquire(t.Context(), t.Name(), 0)
		require.True(t, notHeldTwice(t, lock, second, err))
		time.Sleep(time.Millisecond) // other tests need the processors, too
	}

	// The other masters restart, too, and keep what they have.
	restarted(t, masters[0])
	restarted(t, masters[2])
	require.NoError(t, first.Close())
	require.Greater(t, fence(t, open(t, masters, fenced, durable), "another"), uint64(0))
}

// An adopted lock lives for as long as it is extended, with the mark compared, and raises nothing.
func TestAdoptedLockIsExtendedWithFencing(t *testing.T) {
	t.Parallel()
	masters := fencedSet(t, 3)
	e := open(t, masters, fenced)
	lock := mustAcquire(t, e, t.Name(), 0)
	everywhere(t, masters, lock)
	token := tokenOf(t, masters[0], t.Name())
	other := open(t, masters, fenced)
	adopted, err := other.Adopt(t.Context(), t.Name(), lock.Reveal(), 0)
	require.NoError(t, err)
	require.Zero(t, adopted.Fence())
	require.NoError(t, adopted.Extend(t.Context(), 20*time.Second))
	require.Equal(t, token, tokenOf(t, masters[0], t.Name()))
	for _, m := range masters[:2] { // of another admission, as far as the engine knows
		redistest.Command(t, m, "SET", markKey, "another nonce, of 24 byte run address")
	}
	require.ErrorIs(t, adopted.Extend(t.Context(), 25*time.Second), engine.ErrNoQuorum)
}

// Databases come and go: what is in one is older than what was granted in the other.
func TestDatabasesThatAreSwappedMakeNoSecondHolder(t *testing.T) {
	t.Parallel()
	masters := shortSet(t, 3)
	e, other := open(t, masters, fenced, shortLease), open(t, masters, fenced, shortLease)
	last := uint64(0)
	held := func() *engine.Lock {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		lock, err := e.Acquire(ctx, t.Name(), 0)
		require.NoError(t, err)
		require.Greater(t, lock.Fence(), last)
		last = lock.Fence()
		require.NoError(t, lock.KeepAlive(0))
		everywhere(t, masters, lock)
		return lock
	}
	shown := 0 // tries in which the lock was held to the end: it is on too few to be renewed
	turns := 4 // each has a ticket and a mark of before from the third on
	if testing.Short() {
		turns = 1
	}
	for i := 0; shown < turns; i++ {
		require.Less(t, i, 12, "%d shown", shown)
		lock := held()
		redistest.Command(t, masters[1], "SWAPDB", "0", "1")
		redistest.Command(t, masters[2], "DEL", t.Name()) // it was late
		begin, lasts := time.Now(), true
		for lasts && time.Since(begin) < leaseWait/2 {
			second, err := other.TryAcquire(t.Context(), t.Name(), 0)
			lasts = notHeldTwice(t, lock, second, err)
			if second != nil {
				require.NoError(t, second.Release(t.Context()))
			}
			time.Sleep(time.Millisecond) // other tests need the processors, too
		}
		if lasts {
			shown++
		}
		await.True(t, func() bool { return votesOn(e) == 3 && votesOn(other) == 3 }, i)
		if err := lock.Release(t.Context()); err != nil {
			require.ErrorIs(t, err, engine.ErrNotHeld, "it was on too few")
		}
	}
	require.NoError(t, held().Release(t.Context()))
}
