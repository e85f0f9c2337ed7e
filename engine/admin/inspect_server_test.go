package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/limits"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/testing/shown"
)

func TestInspectShowsWhoHoldsALockOnEachMaster(t *testing.T) {
	masters := five(t)
	prefix := func(c *engine.Config) { c.Prefix = "app:" }
	service, tool := open(t, masters, holder("web-7/4211"), prefix), open(t, masters, prefix)
	lock, err := service.Acquire(t.Context(), t.Name(), 20*time.Second)
	require.NoError(t, err)
	await.True(t, func() bool {
		return strings.Count(strings.Join(redistest.Get(t, masters, "app:"+t.Name()), " "), "@web-7/4211") == 5
	})
	i := mustInspect(t, tool, t.Name())
	require.Equal(t, t.Name(), i.Name)
	require.True(t, i.Held)
	require.Equal(t, "web-7/4211", i.Holder)
	require.Greater(t, i.Left, 10*time.Second)
	require.LessOrEqual(t, i.Left, 20*time.Second)
	require.Len(t, i.Masters, 5)
	for n, m := range i.Masters {
		require.Equal(t, masters[n].Addr(), m.Address)
		require.Regexp(t, "^[0-9a-f]{8}$", m.Value)
		require.Equal(t, i.Masters[0].Value, m.Value)
		require.Equal(t, "web-7/4211", m.Holder)
		require.NoError(t, m.Err)
	}
	require.NoError(t, lock.Extend(t.Context(), 0), "a token with a holder is a token")
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters, "app:"+t.Name())

	free := mustInspect(t, tool, t.Name())
	require.False(t, free.Held)
	require.Empty(t, free.Holder)
	require.Zero(t, free.Left)
	for n, m := range free.Masters {
		require.Equal(t, MasterHolds{Address: masters[n].Addr()}, m)
	}
}

func TestALockOfRedsyncIsHeldByNobodyWithAName(t *testing.T) {
	masters := five(t)
	e := open(t, masters, holder("me"))
	for n, value := range []string{redistest.RedsyncToken, "job@host", redistest.RedsyncToken + "@\x1b[2J"} {
		name := fmt.Sprint(t.Name(), n)
		redistest.Put(t, masters, name, value)
		i := mustInspect(t, e, name)
		require.True(t, i.Held)
		require.Empty(t, i.Holder, "%q", value)
		_, err := ForceRelease(t.Context(), e, i)
		require.NoError(t, err)
	}
}

func TestAKeyWithoutExpiryIsLeftForEver(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	for _, m := range masters {
		redistest.Command(t, m, "SET", t.Name(), "1")
	}
	i := mustInspect(t, e, t.Name())
	require.True(t, i.Held)
	require.Equal(t, NoExpiry, i.Left)
	n, err := ForceRelease(t.Context(), e, i)
	require.NoError(t, err)
	require.Equal(t, 5, n)
}

// A name may be that of anything: the connections of the locks must live through it.
func TestInspectOfWhatIsNoLockIsATypedErrorAndDisturbsNobody(t *testing.T) {
	masters := redistest.Masters(t, 3)
	e := open(t, masters)
	for _, m := range masters {
		redistest.Command(t, m, "RPUSH", "list", "x")
		redistest.Command(t, m, "SETRANGE", "large", fmt.Sprint(1<<20), "x")
		redistest.Command(t, m, "SET", "empty", "")
	}
	for _, name := range []string{"list", "large", "empty"} {
		i, err := Inspect(t.Context(), e, name)
		require.ErrorIs(t, err, ErrNotALock, name)
		require.NotErrorIs(t, err, engine.ErrNoQuorum, name)
		require.Less(t, len(err.Error()), 1000)
		for _, m := range i.Masters {
			require.ErrorIs(t, m.Err, ErrNotALock, name)
		}
		n, err := ForceRelease(t.Context(), e, i)
		require.ErrorIs(t, err, engine.ErrNotHeld)
		require.Zero(t, n)
	}
	redistest.Command(t, masters[0], "DEL", "list")
	redistest.Command(t, masters[1], "DEL", "list")
	i := mustInspect(t, e, "list")
	require.ErrorIs(t, i.Masters[2].Err, ErrNotALock)
	require.NoError(t, i.Masters[0].Err)
	for _, m := range e.Stats().Masters {
		require.Zero(t, m.SetAside, "%v", m.Cause)
	}
	require.Len(t, redistest.Keys(t, masters...), 7)
}

func TestInspectWithBadArgumentsAsksNobody(t *testing.T) {
	e := open(t, five(t), func(c *engine.Config) { c.Prefix = "__mux" })
	for _, name := range []string{"", "lock__:set", strings.Repeat("x", limits.NameBytes)} {
		_, err := Inspect(t.Context(), e, name)
		require.ErrorIs(t, err, engine.ErrInvalid)
		require.ErrorContains(t, err, "name")
	}
	_, err := ForceRelease(t.Context(), e, Inspection{})
	require.ErrorIs(t, err, engine.ErrInvalid)
	_, err = ForceRelease(t.Context(), e, Inspection{Name: "name", Held: true})
	require.ErrorIs(t, err, engine.ErrInvalid)
	require.ErrorContains(t, err, "not from Inspect")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Inspect(ended, e, "name")
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, e.Close())
	_, err = Inspect(t.Context(), e, "name")
	require.ErrorIs(t, err, engine.ErrClosed)
}

func TestPrintedInspectionShowsNoToken(t *testing.T) {
	masters := five(t)
	e := open(t, masters, holder("me"))
	lock, err := e.Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	everywhere(t, masters, t.Name())
	i := mustInspect(t, e, t.Name())
	token := redistest.Get(t, masters, t.Name())[0]
	require.Equal(t, []string{token}, *i.found.tokens)
	random := token[:22] // before the padding and the holder
	shown.RequireHidden(t, random, i, &i, []Inspection{i}, []*Inspection{&i}, struct{ hidden Inspection }{i},
		struct{ hidden *Inspection }{&i}, map[string]Inspection{"k": i}, i.Masters)
	text, err := json.Marshal(i)
	require.NoError(t, err)
	require.Contains(t, string(text), `"Holder":"me"`)
	require.NoError(t, lock.Release(t.Context()))
}

func TestInspectNeedsNoMoreRightsThanALock(t *testing.T) {
	masters := redistest.Masters(t, 3)
	e := open(t, masters, least(t, masters), holder("me"))
	lock, err := e.Acquire(t.Context(), "locks:a", 20*time.Second)
	require.NoError(t, err)
	i := mustInspect(t, e, "locks:a")
	require.Equal(t, "me", i.Holder)
	adopted, err := e.Adopt(t.Context(), "locks:a", lock.Reveal(), 0)
	require.NoError(t, err)
	n, err := ForceRelease(t.Context(), e, i)
	require.NoError(t, err)
	require.NotZero(t, n)
	require.ErrorIs(t, adopted.Release(t.Context()), engine.ErrNotHeld)

	_, err = Inspect(t.Context(), e, "others")
	require.ErrorIs(t, err, engine.ErrDenied)
	require.NotErrorIs(t, err, engine.ErrNoQuorum)
	for _, m := range e.Stats().Masters {
		require.Zero(t, m.SetAside, "%v", m.Cause)
	}
}

func TestInspectShowsReadersAndForceReleaseEndsThem(t *testing.T) {
	masters := five(t)
	e, other := open(t, masters, holder("one")), open(t, masters, holder("two"))
	var locks []*engine.Lock
	for _, e := range []*engine.Engine{e, e, other} {
		lock, err := e.AcquireShared(t.Context(), t.Name(), 0)
		require.NoError(t, err)
		locks = append(locks, lock)
	}
	var i Inspection
	await.True(t, func() bool {
		i = mustInspect(t, e, t.Name())
		return !slices.ContainsFunc(i.Masters, func(m MasterHolds) bool { return len(m.Readers) != 2 })
	})
	require.True(t, i.Held)
	require.Contains(t, []string{"one", "two"}, i.Holder)
	require.Positive(t, i.Left)
	for _, m := range i.Masters {
		require.ElementsMatch(t, []string{"one", "two"}, []string{m.Readers[0].Holder, m.Readers[1].Holder})
		require.NotEqual(t, m.Readers[0].Value, m.Readers[1].Value)
		require.Contains(t, m.Readers, Reader{m.Value, m.Holder})
	}
	deleted, err := ForceRelease(t.Context(), e, i)
	require.NoError(t, err)
	require.Equal(t, 5, deleted, "masters")
	require.False(t, mustInspect(t, e, t.Name()).Held)
	for _, l := range locks {
		require.ErrorIs(t, l.Extend(t.Context(), 0), engine.ErrLost)
	}
}

func TestAPermitIsInspectedAndReleasedByForce(t *testing.T) {
	masters := five(t)
	prefix := func(c *engine.Config) { c.Prefix = "app:" }
	service, tool := open(t, masters, holder("web-7/4211"), prefix), open(t, masters, prefix)
	var permits []*engine.Lock
	for slot := range 3 {
		permit, err := service.AcquirePermit(t.Context(), t.Name(), slot+1, 0) // all below are taken
		require.NoError(t, err)
		everywhere(t, masters, fmt.Sprintf("__muxlock__:slot:%d:app:%s", slot, t.Name()))
		permits = append(permits, permit)
	}
	find := func(slot int) Inspection {
		t.Helper()
		i, err := InspectPermit(t.Context(), tool, t.Name(), slot)
		require.NoError(t, err)
		return i
	}
	require.False(t, mustInspect(t, tool, t.Name()).Held, "the lock is not the permits")
	require.False(t, find(-1).Held)
	require.False(t, find(3).Held)
	for _, slot := range []int{-2, limits.Permits} {
		_, err := InspectPermit(t.Context(), tool, t.Name(), slot)
		require.ErrorIs(t, err, engine.ErrInvalid, "there is no slot %d", slot)
	}
	i := find(1)
	require.True(t, i.Held)
	require.Equal(t, t.Name(), i.Name)
	require.Equal(t, "web-7/4211", i.Holder)
	require.Positive(t, i.Left)
	deleted, err := ForceRelease(t.Context(), tool, i)
	require.NoError(t, err)
	require.Equal(t, 5, deleted)
	_, err = ForceRelease(t.Context(), tool, i)
	require.ErrorIs(t, err, engine.ErrNotHeld)
	for slot, permit := range permits {
		require.Equal(t, slot != 1, find(slot).Held)
		require.Equal(t, slot == 1, errors.Is(permit.Release(t.Context()), engine.ErrNotHeld))
	}
}
