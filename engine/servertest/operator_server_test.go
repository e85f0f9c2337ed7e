package servertest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// killed dials for an operator that ends without a word after so many commands, as by kill -9:
// what it has sent is executed, and none of its connections goes on.
type killed struct{ left atomic.Int64 }

var errKilled = errors.New("killed")

func (k *killed) after(commands int) func(*engine.Config) {
	k.left.Store(int64(commands))
	return func(c *engine.Config) {
		c.Client.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "tcp", address)
			return &killedConn{conn, k}, err
		}
	}
}

type killedConn struct {
	net.Conn
	k *killed
}

func (c *killedConn) Write(b []byte) (int, error) {
	left := c.k.left.Add(-1)
	if left < 0 {
		_ = c.Close()
		return 0, errKilled
	}
	return c.Conn.Write(b)
}

func (c *killedConn) Read(b []byte) (int, error) {
	if c.k.left.Load() < 0 {
		_ = c.Close()
		return 0, errKilled
	}
	return c.Conn.Read(b)
}

// atEveryStep runs an operation that is killed after one command more each time, until it is not,
// and checks what it leaves.
func atEveryStep(t *testing.T, operate func(change func(*engine.Config)) error, check func(cut bool)) {
	t.Helper()
	if testing.Short() {
		t.Skip("its steps come one after another")
	}
	for commands := 0; ; commands++ {
		var k killed
		err := operate(k.after(commands))
		check(err != nil)
		if err == nil {
			require.Greater(t, commands, 7)
			return
		}
	}
}

func TestSetUpThatIsKilledAtEveryStepIsRunAgain(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	var last uint64
	atEveryStep(t, func(change func(*engine.Config)) error {
		for _, m := range masters { // nothing was set up
			redistest.Command(t, m, "FLUSHALL")
		}
		return admin.SetUp(t.Context(), with(shortConfig(masters), change), admin.SetUpOptions{MastersAreNew: true})
	}, func(bool) {
		e, err := engine.New(t.Context(), with(shortConfig(masters), fenced))
		if err != nil {
			require.True(t, errors.Is(err, engine.ErrConfigMismatch) || errors.Is(err, engine.ErrNoQuorum), err)
			setUp(t, shortConfig(masters), admin.SetUpOptions{MastersAreNew: true})
			e = open(t, masters, fenced, shortLease)
		} // else two of three serve, and the engine admits the last
		untilAdmitted(t, masters)
		await.Equal(t, 3, func() any { return votesOn(e) })
		f := fence(t, e, t.Name())
		require.GreaterOrEqual(t, f, last, "even what was flushed begins above, by the time")
		last = f &^ (1<<20 - 1) // one second and more are between
		require.NoError(t, e.Close())
	})
}

func TestRecoveryThatIsKilledAtEveryStepIsRunAgain(t *testing.T) {
	t.Parallel()
	masters := shortSet(t, 3)
	recovery := admin.SetUpOptions{MastersAreNew: true, Recover: true, Above: 1 << 50}
	atEveryStep(t, func(change func(*engine.Config)) error {
		for _, m := range masters[:2] {
			redistest.Command(t, m, "FLUSHALL")
		}
		return admin.SetUp(t.Context(), with(shortConfig(masters), change), recovery)
	}, func(bool) {
		setUp(t, shortConfig(masters), recovery)
		require.Equal(t, 3, admitted(t, masters))
		e := open(t, masters, fenced, shortLease)
		require.Greater(t, fence(t, e, t.Name()), recovery.Above)
		require.NoError(t, e.Close())
	})
}

func TestReplacementThatIsKilledAtEveryStepIsRunAgain(t *testing.T) {
	t.Parallel()
	all := redistest.Masters(t, 4)
	three, after := all[:3], []*redisserver.Server{all[0], all[1], all[3]}
	atEveryStep(t, func(change func(*engine.Config)) error {
		for _, m := range all {
			redistest.Command(t, m, "FLUSHALL")
		}
		setUp(t, shortConfig(three), admin.SetUpOptions{MastersAreNew: true})
		return admin.ReplaceMaster(t.Context(), with(shortConfig(three), change), all[2].Addr(), all[3].Addr())
	}, func(bool) {
		require.NoError(t, again(func() error {
			return admin.ReplaceMaster(t.Context(), shortConfig(three), all[2].Addr(), all[3].Addr())
		}))
		e := open(t, after, fenced, shortLease)
		require.NotZero(t, fence(t, e, t.Name()))
		require.NoError(t, e.Close())
	})
}

func TestTwoOperatorsAtOnceLeaveOneSet(t *testing.T) {
	t.Parallel()
	for range 5 {
		masters := redistest.Masters(t, 3)
		var both errgroup.Group
		errs := make([]error, 2)
		for i := range errs {
			both.Go(func() error {
				errs[i] = admin.SetUp(t.Context(), shortConfig(masters), admin.SetUpOptions{MastersAreNew: true})
				return nil
			})
		}
		require.NoError(t, both.Wait())
		if errs[0] != nil && errs[1] != nil { // each was first at some master
			require.ErrorContains(t, errs[0], "run it again")
			require.NoError(t, admin.SetUp(t.Context(), shortConfig(masters), admin.SetUpOptions{MastersAreNew: true}))
		}
		require.Equal(t, 3, admitted(t, masters))
		require.NotZero(t, fence(t, open(t, masters, fenced, shortLease), t.Name()))
	}
}

// A master that was replaced is flushed, and a client that still has the old masters opens it. Later it replaces another
// member. However long it has waited for the old set, a lock of the member that leaves has to run out first.
func TestMasterThatComesBackToTheSetWaitsAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the wait of several admissions")
	}
	t.Parallel()
	masters, fourth := shortSet(t, 3), redistest.Masters(t, 1)
	a, b, c, d := masters[0], masters[1], masters[2], fourth[0]
	old := open(t, masters, fenced, shortLease)
	replaced(t, masters, c, d)
	redistest.Command(t, c, "FLUSHALL")                // else it cannot become a member again
	_, err := old.TryAcquire(t.Context(), t.Name(), 0) // it finds out
	require.Error(t, err)
	untilItWaits(t, c)
	require.NoError(t, old.Close())
	requireNoSecondHolder(t, []*redisserver.Server{a, b, d}, b, c)
}

func replaced(t *testing.T, set []*redisserver.Server, from, to *redisserver.Server) {
	t.Helper()
	require.NoError(t, admin.ReplaceMaster(t.Context(), shortConfig(set), from.Addr(), to.Addr()))
}

// untilItWaits waits until a master has a ticket, and since when.
func untilItWaits(t *testing.T, m *redisserver.Server) {
	t.Helper()
	await.Equal(t, 2, func() any { return len(redistest.Keys(t, m)) })
}

// requireNoSecondHolder replaces a member of the set, whose last master is new. The lock that is held meanwhile is at two
// masters, and the member that is replaced is one of them.
func requireNoSecondHolder(t *testing.T, set []*redisserver.Server, from, to *redisserver.Server) {
	t.Helper()
	before := open(t, set, fenced, shortLease)
	untilAdmitted(t, set)
	lock := mustAcquire(t, before, t.Name(), 0)
	everywhere(t, set, lock)
	redistest.Command(t, set[2], "DEL", t.Name()) // it was late
	replaced(t, set, from, to)
	after := open(t, []*redisserver.Server{set[0], to, set[2]}, fenced, shortLease)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	second, err := after.Acquire(ctx, t.Name(), 0)
	require.NoError(t, err)
	require.False(t, lock.Valid() && second.Valid(), "fences %d and %d, %v left of the first", lock.Fence(), second.Fence(), time.Until(lock.Until()))
}

// What a set of before still does ends with the first step of the recovery: the wait outlasts it.
func TestRecoveryMayChangeTheNumberOfMasters(t *testing.T) {
	t.Parallel()
	all := redistest.Masters(t, 5)
	old := all[:3]
	require.NoError(t, admin.SetUp(t.Context(), shortConfig(old), admin.SetUpOptions{MastersAreNew: true}))
	e := open(t, old, fenced, shortLease)
	held, err := e.Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NoError(t, held.KeepAlive(0))
	last := held.Fence()
	require.ErrorIs(t, admin.SetUp(t.Context(), shortConfig(all), admin.SetUpOptions{}), engine.ErrConfigMismatch)
	require.ErrorIs(t, admin.SetUp(t.Context(), shortConfig(all[2:4]), admin.SetUpOptions{Recover: true, Above: last}), engine.ErrConfigMismatch, "two of three are left outside")
	require.True(t, held.Valid(), "nothing was changed")
	require.NoError(t, admin.SetUp(t.Context(), shortConfig(all), admin.SetUpOptions{Recover: true, Above: last}))
	require.False(t, held.Valid())
	_, err = e.TryAcquire(t.Context(), "another", 0)
	require.ErrorIs(t, err, engine.ErrNotAcquired)
	require.Greater(t, fence(t, open(t, all, fenced, shortLease), t.Name()), last)
}

// A register that is used up: names of it get no fence any more, others do.
func TestRegisterThatIsUsedUpLeavesTheOtherNames(t *testing.T) {
	t.Parallel()
	masters := fencedSet(t, 3)
	for _, m := range masters {
		redistest.Command(t, m, "HSET", registersKey, registerOf(t.Name()), "137438953470")
	}
	e := open(t, masters, fenced)
	lock, err := e.Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.EqualValues(t, 1<<37-1, lock.Fence()>>16, "the last one")
	require.NoError(t, lock.Release(t.Context()))
	_, err = e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, engine.ErrRegister)
	cycle(t, e, t.Name()+".2")
}

func TestSetOfAnEarlierVersionIsRefusedAndTakenOver(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	addrs := redistest.Addrs(masters)
	for _, m := range masters { // as that version wrote it
		_, after, _ := strings.Cut(redistest.Command(t, m, "INFO", "server").(string), "run_id:")
		runID, _, _ := strings.Cut(after, "\r\n")
		redistest.Command(t, m, "SET", "__muxlock__:set", "muxlock-set-1 id 1 2000 4096 "+strings.Join(slices.Sorted(slices.Values(addrs)), " "))
		redistest.Command(t, m, "SET", markKey, runID)
		redistest.Command(t, m, "HSET", registersKey, "0", "20")
	}
	_, err := engine.New(t.Context(), with(shortConfig(masters), fenced))
	require.ErrorIs(t, err, engine.ErrConfigMismatch)
	require.ErrorContains(t, err, "earlier version")
	err = admin.SetUp(t.Context(), shortConfig(masters), admin.SetUpOptions{MastersAreNew: true})
	require.ErrorIs(t, err, engine.ErrConfigMismatch)
	require.ErrorContains(t, err, "--recover")
	require.Empty(t, redistest.Command(t, masters[0], "GET", "__muxlock__:ticket"), "nothing was changed")
	require.NoError(t, admin.SetUp(t.Context(), shortConfig(masters), admin.SetUpOptions{Recover: true, MastersAreNew: true, Above: 20 << 16}))
	require.Greater(t, fence(t, open(t, masters, fenced, shortLease), t.Name()), uint64(20<<16))
}
