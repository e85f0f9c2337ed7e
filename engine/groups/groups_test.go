package groups

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/testing/await"
)

func TestAllVerbsOfAnEngineWork(t *testing.T) {
	for maps, groups := range map[[2]string][2]string{{"ab", ""}: {"a", "b"}, {"a", "ab"}: {"a", "ab"}, {"ab", "a"}: {"a", "ab"}, {"a", "b"}: {"ab", "ab"}} {
		t.Run(fmt.Sprint(maps), func(t *testing.T) {
			w := newWorld(t)
			e, other := w.open(t, maps[0], maps[1]), w.open(t, maps[0], maps[1])
			for n, group := range groups {
				name := nameIn(t, e, group, n)
				held := func(ctx context.Context) {
					assert.Equal(t, group, w.having(name))
					lock, ok := engine.LockFrom(ctx)
					assert.True(t, ok && lock.Valid() && lock.Name() == name)
					_, err := other.TryAcquire(ctx, name, 0)
					assert.ErrorIs(t, err, engine.ErrTaken)
				}
				failed := errors.New("failed")
				fn := func(ctx context.Context) error { held(ctx); return failed }
				require.ErrorIs(t, e.Do(within(t), name, 0, fn), failed)
				require.ErrorIs(t, e.TryDo(within(t), name, 0, fn), failed)
				require.NoError(t, e.Lead(within(t), name, 0, func(ctx context.Context, _ *engine.Lock) error { held(ctx); return nil }))

				lock, err := e.TryAcquire(t.Context(), name, 0)
				require.NoError(t, err)
				adopted, err := other.Adopt(t.Context(), name, lock.Reveal(), 0)
				require.NoError(t, err)
				require.NoError(t, adopted.Release(t.Context()))
				require.Empty(t, w.having(name))
				require.ErrorIs(t, lock.Extend(t.Context(), 0), engine.ErrLost)

				require.NoError(t, e.DoShared(within(t), name, 0, func(ctx context.Context) error {
					another, err := other.TryAcquireShared(ctx, name, 0)
					require.NoError(t, err)
					require.NoError(t, another.Extend(ctx, 20*time.Second))
					require.Equal(t, group, w.having(name))
					_, err = other.TryAcquire(ctx, name, 0)
					require.ErrorIs(t, err, engine.ErrTaken)
					return another.Release(ctx)
				}))
				await.Equal(t, "", func() any { return w.having(name) }) // each is gone from a quorum, and not from the same

				names := []string{"{" + name + "}/1", "{" + name + "}/2"}
				require.NoError(t, e.DoAll(within(t), names, 0, func(ctx context.Context, set *engine.Set) error {
					_, err := other.TryAcquireAll(ctx, names[1:], 0)
					assert.ErrorIs(t, err, engine.ErrTaken)
					assert.NoError(t, set.Extend(ctx, 20*time.Second))
					return nil
				}))
				set, err := other.TryAcquireAll(within(t), names, 0)
				require.NoError(t, err)
				require.Equal(t, group, w.having(names[1]))
				require.NoError(t, set.Release(t.Context()))
				require.Empty(t, w.having(names[1]))
			}
			require.NoError(t, e.Ready(t.Context()))
			require.Positive(t, e.Stats().Acquired)
			require.Zero(t, e.Stats().Held)
			require.Len(t, e.Stats().Masters, 6)
			require.Len(t, e.Groups()["a"].Stats().Masters, 3)
			require.Positive(t, e.Groups()["a"].Stats().Rounds)
		})
	}
}

func TestManyNamesOfManyGroupsAreAskedForAtOnce(t *testing.T) {
	w := newWorld(t)
	e := w.open(t, "ab", "abc")
	kinds := []string{"a", "b", "ac", "bc"}
	var names []string
	for i := range 40 {
		names = append(names, nameIn(t, e, kinds[i%4], i/4))
	}
	held, err := w.open(t, "ab", "abc").Acquire(within(t), names[2], 0)
	require.NoError(t, err)
	results := e.AcquireMany(t.Context(), append(names, "", names[0]), 0)
	var locks []*engine.Lock
	for i, r := range results {
		switch i {
		case 2, 41:
			require.ErrorIs(t, r.Err, engine.ErrTaken)
		case 40:
			require.ErrorIs(t, r.Err, engine.ErrInvalid)
		default:
			require.NoError(t, r.Err)
			require.Equal(t, names[i], r.Lock.Name())
			require.Equal(t, kinds[i%4], w.having(names[i]))
		}
		locks = append(locks, r.Lock)
	}
	errs := e.ReleaseMany(t.Context(), append(locks, held))
	for i, err := range errs {
		require.Equal(t, i == 42, errors.Is(err, engine.ErrInvalid), "%d: %v", i, err)
	}
	require.Nil(t, e.ReleaseMany(t.Context(), nil))
	require.NoError(t, held.Release(t.Context()))
	for _, name := range names {
		require.Empty(t, w.having(name))
	}
}

func TestASetIsOfOneGroup(t *testing.T) {
	w := newWorld(t)
	for _, next := range []string{"", "abc"} {
		e := w.open(t, "ab", next)
		names := []string{nameIn(t, e, "a", 0), nameIn(t, e, "a", 1), nameIn(t, e, "b", 0)}
		set, err := e.AcquireAll(within(t), names[:2], 0)
		require.NoError(t, err)
		sent := e.Stats().Requests
		for _, acquire := range []func(context.Context, []string, time.Duration) (*engine.Set, error){e.AcquireAll, e.TryAcquireAll} {
			_, err := acquire(within(t), names, 0)
			require.ErrorIs(t, err, engine.ErrInvalid)
			require.ErrorContains(t, err, fmt.Sprintf("names are of two groups of masters: %q and %q. Names with the same {tag} are in one", names[0], names[2]))
			require.EqualError(t, w.config("ab", next).Validate(names...), err.Error())
		}
		require.NoError(t, w.config("ab", next).Validate(names[:2]...))
		require.Equal(t, sent, e.Stats().Requests, "nothing was sent")
		require.NoError(t, set.Release(t.Context()))
		if next != "" {
			moves := nameIn(t, e, "ac", 0)
			_, err := e.AcquireAll(within(t), []string{names[0], moves}, 0)
			require.ErrorContains(t, err, fmt.Sprintf("two groups of masters: %q and %q", names[0], moves))
			require.EqualError(t, w.config("ab", next).Validate(names[0], moves), err.Error())
		}
	}
}

func TestAGroupWithoutAQuorumKeepsNobodyFromTheOthers(t *testing.T) {
	w := newWorld(t)
	cfg := w.config("ab", "")
	cfg.MasterTimeout = 50 * time.Millisecond
	e, err := New(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	w["a0:1"].Down()
	w["a1:1"].Down()
	_, err = e.TryAcquire(t.Context(), nameIn(t, e, "a", 0), 0)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.NoError(t, e.Do(within(t), nameIn(t, e, "b", 0), 0, func(context.Context) error { return nil }))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	await.True(t, func() bool { return errors.Is(e.Ready(ctx), engine.ErrNoQuorum) })
	require.ErrorContains(t, e.Ready(ctx), `group "a"`)
	require.NotContains(t, e.Ready(ctx).Error(), `group "b"`)
	require.NoError(t, e.Groups()["b"].Ready(ctx))
	_, err = New(t.Context(), cfg)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.ErrorContains(t, err, `group "a"`)
}

func TestConfigIsCheckedBeforeAnythingIsSent(t *testing.T) {
	w := newWorld(t)
	fenced := func(c *Config) { c.Fencing = true }
	for text, change := range map[string]func(*Config){
		"Masters is set":                             func(c *Config) { c.Masters = []string{"x:1"} },
		"Groups is empty":                            func(c *Config) { c.Groups = nil },
		`Groups[""] has no id`:                       func(c *Config) { c.Groups[""] = []string{"x:1", "y:1", "z:1"} },
		`Groups["c"]: muxlock: invalid: Mast`:        func(c *Config) { c.Groups["c"] = nil },
		`Groups["c"]: muxlock: invalid: Masters[0] `: func(c *Config) { c.Groups["c"] = []string{"x", "y:1", "z:1"} },
		`Groups["a"]: muxlock: invalid: MaxTTL`:      func(c *Config) { c.MaxTTL = -1 },
		`Groups["b"] has a master of group "a"`:      func(c *Config) { c.Groups["b"] = []string{"x:1", "y:1", "redis://A1:1"} },
		`Next["c"] has a master of group "b"`:        func(c *Config) { c.Next = map[string][]string{"c": c.Groups["b"]} },
		`Groups["b"] has 1 masters, group "a" 3`:     func(c *Config) { c.Groups["b"] = []string{"b:1"} },
		`Next["a"] has other masters than in Groups`: func(c *Config) { c.Next = map[string][]string{"a": {"x:1", "y:1", "z:1"}} },
		`Next["b"] has other masters than in Groups`: func(c *Config) {
			c.Next = map[string][]string{"b": {"redis://b0:1/1", "redis://b1:1/1", "redis://b2:1/1"}}
		},
		`Next["d"] has a master of group "b"`: func(c *Config) { c.Next = map[string][]string{"d": {"redis://b0:1/1", "y:1", "z:1"}} },
		"Next equals Groups":                  func(c *Config) { c.Next = w.groups("b", "a") },
		"Next is not possible with Fencing":   func(c *Config) { fenced(c); c.Next = w.groups("a") },
	} {
		cfg := w.config("ab", "")
		cfg.Client.DialCtxFn = nil // it would fail
		change(&cfg)
		_, err := New(t.Context(), cfg)
		require.ErrorIs(t, err, engine.ErrInvalid, text)
		require.ErrorContains(t, err, text)
		require.Equal(t, err, cfg.Validate())
	}
	require.NoError(t, w.config("ab", "abc").Validate())
}

func TestOperatorsLookAtGroups(t *testing.T) {
	w := newWorld(t)
	e := w.open(t, "ab", "")
	name := nameIn(t, e, "b", 0)
	lock, err := e.Acquire(within(t), name, 0)
	require.NoError(t, err)
	for _, of := range []*engine.Engine{e.Engine, e.Groups()["b"]} {
		found, err := admin.Inspect(t.Context(), of, name)
		require.NoError(t, err)
		require.True(t, found.Held)
		require.Len(t, found.Masters, 3)
	}
	found, err := admin.Inspect(t.Context(), e.Engine, name)
	require.NoError(t, err)
	_, err = admin.ForceRelease(t.Context(), e.Engine, found)
	require.NoError(t, err)
	require.ErrorIs(t, lock.Extend(t.Context(), 0), engine.ErrLost)
	permit, err := e.AcquirePermit(t.Context(), name, 1, 0)
	require.NoError(t, err)
	found, err = admin.InspectPermit(t.Context(), e.Engine, name, permit.Slot())
	require.NoError(t, err)
	require.True(t, found.Held)
	_, err = admin.Check(t.Context(), e.Engine)
	require.ErrorIs(t, err, engine.ErrInvalid)
	require.ErrorContains(t, err, "check each of its Groups()")
}

func TestTheLocksOfAllGroupsAreMeasuredTogether(t *testing.T) {
	w := newWorld(t)
	cfg := w.config("ab", "")
	cfg.Measure = true
	e, err := New(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	for _, group := range []string{"a", "b"} {
		require.NoError(t, e.Do(within(t), nameIn(t, e, group, 0), 0, func(context.Context) error { return nil }))
		require.Zero(t, e.Groups()[group].Measured())
	}
	require.EqualValues(t, 2, e.Measured().Holds.Count)
	require.Len(t, e.Measured().Masters, 6)
	require.Equal(t, 2, e.Measured().Groups)
}

func TestCallsAfterCloseAreRefused(t *testing.T) {
	w := newWorld(t)
	e := w.open(t, "ab", "abc")
	lock, err := e.Acquire(within(t), nameIn(t, e, "ac", 0), 0)
	require.NoError(t, err)
	require.NoError(t, lock.KeepAlive(0))
	found, err := admin.Inspect(t.Context(), e.Engine, lock.Name())
	require.NoError(t, err)
	require.NoError(t, e.Close())
	_, err = admin.ForceRelease(t.Context(), e.Engine, found)
	require.ErrorIs(t, err, engine.ErrClosed)
	require.ErrorIs(t, lock.Err(), engine.ErrClosed)
	for _, group := range []string{"a", "ac"} {
		_, err = e.Acquire(t.Context(), nameIn(t, e, group, 1), 0)
		require.ErrorIs(t, err, engine.ErrClosed)
	}
}
