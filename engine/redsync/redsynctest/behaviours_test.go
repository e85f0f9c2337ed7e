package redsynctest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	shim "muxlock/engine/redsync"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// A behaviour is what Redsync's documentation or tests promise, or its users see. It is looked
// at through the mutexes of one library, beside rivals of the same process, of another, and of
// the other library: what the first one does must not depend on them.
type behaviour struct {
	name    string
	see     func(t *testing.T, c scene) string
	redsync string // what is seen with Redsync
	shim    string // and with the shim, where that differs
	because string // why it differs; package redsync's documentation says so too
}

// A scene is where a behaviour is looked at.
type scene struct {
	masters []*redisserver.Server
	key     string
	mine    library
	rival   library
}

// short is a lease that a test lets run out.
const short = 4 * time.Second

var patient = []option{timeout(1)}

func (c scene) mutex(options ...option) mutex { return c.mine(c.key, append(options, patient...)...) }
func (c scene) other(options ...option) mutex { return c.rival(c.key, append(options, patient...)...) }

// locked is a mutex that holds the lock.
func (c scene) locked(t *testing.T, options ...option) mutex {
	t.Helper()
	m := c.mutex(options...)
	require.NoError(t, m.Lock())
	return m
}

// taken is a rival's mutex that holds the lock.
func (c scene) taken(t *testing.T, options ...option) mutex {
	t.Helper()
	m := c.other(options...)
	require.NoError(t, m.Lock())
	return m
}

// expired is a mutex whose lock has run out.
func (c scene) expired(t *testing.T, options ...option) mutex {
	t.Helper()
	m := c.locked(t, append(options, expiry(short))...)
	free(t, c.masters, c.key)
	return m
}

const (
	ownDeath   = "Unlock does not look at who has a lock that is not the mutex's any more"
	alwaysBeen = "the engine draws a value for each attempt"
)

var behaviours = []behaviour{
	// Lock and TryLock.
	{name: "a lock is the mutex's value under its name at a quorum", redsync: "nil true true",
		see: func(t *testing.T, c scene) string {
			m := c.mutex()
			err := m.Lock()
			return fmt.Sprint(kinds(err), " ", m.Name() == c.key, " ", having(t, c.masters, c.key, m.Value()) >= 2)
		}},
	{name: "value and until are empty before the first lock", redsync: "true true",
		see: func(t *testing.T, c scene) string {
			m := c.mutex()
			return fmt.Sprint(m.Value() == "", " ", m.Until().IsZero())
		}},
	{name: "until is within the expiry, which the masters were told", redsync: "true true true",
		see: func(t *testing.T, c scene) string {
			before := time.Now()
			m := c.locked(t, expiry(20*time.Second))
			return fmt.Sprint(m.Until().After(before.Add(19*time.Second)), " ", m.Until().Before(time.Now().Add(20*time.Second)), " ",
				left(t, c.masters[0], c.key) > 15*time.Second)
		}},
	{name: "the default expiry is 8 s", redsync: "true true",
		see: func(t *testing.T, c scene) string {
			before := time.Now()
			m := c.locked(t)
			return fmt.Sprint(m.Until().After(before.Add(7*time.Second)), " ", m.Until().Before(time.Now().Add(8*time.Second)))
		}},
	{name: "TryLock of a held lock is ErrTaken", redsync: "ErrTaken",
		see: func(t *testing.T, c scene) string {
			c.taken(t)
			return kinds(c.mutex().TryLock())
		}},
	{name: "with fail-fast, too", redsync: "ErrTaken nil true <nil>",
		see: func(t *testing.T, c scene) string {
			other := c.taken(t)
			m := c.mutex(failFast(), shuffled())
			refused := m.TryLock()
			unlock(t, other)
			free(t, c.masters, c.key)
			return fmt.Sprint(kinds(refused), " ", kinds(m.Lock()), " ", fmt.Sprint(m.Unlock()))
		}},
	{name: "Lock gives up after its tries", redsync: "ErrTaken",
		see: func(t *testing.T, c scene) string {
			c.taken(t, expiry(20*time.Second))
			return kinds(c.mutex(expiry(short), tries(4), delay(5*time.Millisecond)).Lock())
		}},
	{name: "with one try Lock is TryLock", redsync: "ErrTaken",
		see: func(t *testing.T, c scene) string {
			c.taken(t)
			return kinds(c.mutex(tries(1)).Lock())
		}},
	{name: "a mutex that holds the lock is refused like any other, and keeps it", redsync: "ErrTaken true true nil",
		see: func(t *testing.T, c scene) string {
			m := c.locked(t)
			value := m.Value()
			refused := m.TryLock()
			same := m.Value() == value
			return fmt.Sprint(kinds(refused), " ", same, " ", said(m.Unlock()))
		}},
	{name: "Lock waits for a lock that is unlocked", redsync: "nil",
		see: func(t *testing.T, c scene) string {
			other := c.taken(t)
			waiting := make(chan error)
			go func() { waiting <- c.mutex().Lock() }()
			unlock(t, other)
			return kinds(<-waiting)
		}},
	{name: "Lock waits for a lock that runs out", redsync: "nil",
		see: func(t *testing.T, c scene) string {
			c.taken(t, expiry(short))
			return kinds(c.mutex(tries(200)).Lock())
		}},
	{name: "the delay function is asked before each further try", redsync: "ErrTaken [1 2 3]",
		see: func(t *testing.T, c scene) string {
			c.taken(t, expiry(20*time.Second))
			var asked []int
			err := c.mutex(expiry(short), tries(4), delays(func(try int) time.Duration {
				asked = append(asked, try)
				return time.Millisecond
			})).Lock()
			return fmt.Sprint(kinds(err), " ", asked)
		}},
	{name: "ctx ends the wait", redsync: "ErrFailed", shim: "Canceled+ErrFailed", because: "ctx's error is joined",
		see: func(t *testing.T, c scene) string {
			c.taken(t)
			ctx, cancel := context.WithCancel(t.Context())
			waiting := make(chan error)
			go func() { waiting <- c.mutex(delay(time.Hour)).LockContext(ctx) }()
			cancel()
			return kinds(<-waiting)
		}},
	{name: "a ctx that has ended makes TryLock fail", redsync: "Canceled+RedisError true", shim: "Canceled+ErrFailed true",
		because: "no master is asked",
		see: func(t *testing.T, c scene) string {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := c.mutex().TryLockContext(ctx)
			return fmt.Sprint(kinds(err), " ", having(t, c.masters, c.key, "") == 3)
		}},
	{name: "a minority of keys of another does not matter, a majority refuses, and nothing is left behind",
		redsync: "[nil nil nil ErrTaken nil ErrTaken ErrTaken ErrTaken]",
		see: func(t *testing.T, c scene) string {
			var seen []string
			for mask := range 8 {
				c := c
				c.key += fmt.Sprint(mask)
				var clogged, others []*redisserver.Server
				for i, m := range c.masters {
					if mask&(1<<i) != 0 {
						clogged = append(clogged, m)
					} else {
						others = append(others, m)
					}
				}
				set(t, clogged, c.key)
				m := c.mutex(tries(1))
				err := m.Lock()
				if err != nil {
					free(t, others, c.key)
				} else {
					unlock(t, m)
				}
				require.Equal(t, len(clogged), having(t, c.masters, c.key, "another's"))
				seen = append(seen, kinds(err))
			}
			return fmt.Sprint(seen)
		}},
	{name: "ErrTaken says which masters refused", redsync: "3", shim: "0", because: "the engine counts votes until they decide",
		see: func(t *testing.T, c scene) string {
			value := c.taken(t).Value() // at a quorum, and at the last master soon
			await.Equal(t, len(c.masters), func() any { return having(t, c.masters, c.key, value) })
			err := c.mutex().TryLock()
			var real *redsync.ErrTaken
			if errors.As(err, &real) {
				return fmt.Sprint(len(real.Nodes))
			}
			var own *shim.ErrTaken
			require.ErrorAs(t, err, &own)
			return fmt.Sprint(len(own.Nodes))
		}},
	{name: "all who want a lock get it, one at a time", redsync: "10 false",
		see: func(t *testing.T, c scene) string {
			var all sync.WaitGroup
			r := newRecord()
			for i := range 10 {
				m := c.mutex(waiting...)
				if i%2 == 0 {
					m = c.other(waiting...)
				}
				all.Go(func() {
					if assert.NoError(t, m.Lock()) {
						r.update(runtime.Gosched)
						_, err := m.Unlock()
						assert.NoError(t, err)
					}
				})
			}
			all.Wait()
			return fmt.Sprint(r.value.Load(), " ", r.overlapped())
		}},

	// Unlock.
	{name: "Unlock frees the lock, once", redsync: "true nil, false ErrLockAlreadyExpired",
		see: func(t *testing.T, c scene) string {
			m := c.locked(t)
			first := said(m.Unlock())
			free(t, c.masters, c.key)
			return first + ", " + said(m.Unlock())
		}},
	{name: "a mutex is used again, with another value", redsync: "true nil nil true",
		see: func(t *testing.T, c scene) string {
			m := c.locked(t)
			first, unlocked := m.Value(), said(m.Unlock())
			return fmt.Sprint(unlocked, " ", kinds(m.Lock()), " ", m.Value() != first)
		}},
	{name: "Unlock of what ran out", redsync: "false ErrLockAlreadyExpired",
		see: func(t *testing.T, c scene) string { return said(c.expired(t).Unlock()) }},
	{name: "Unlock of what was never locked", redsync: "false ErrLockAlreadyExpired",
		see: func(t *testing.T, c scene) string { return said(c.mutex().Unlock()) }},
	{name: "Unlock of what is another's by now, who keeps it", redsync: "false ErrTaken true nil",
		shim: "false ErrLockAlreadyExpired true nil", because: ownDeath,
		see: func(t *testing.T, c scene) string {
			m := c.expired(t)
			other := c.taken(t)
			return said(m.Unlock()) + " " + said(other.Unlock())
		}},
	{name: "Unlock of another's, who keeps it", redsync: "false ErrTaken true nil",
		shim: "false ErrLockAlreadyExpired true nil", because: ownDeath,
		see: func(t *testing.T, c scene) string {
			other := c.taken(t)
			return said(c.mutex(value("not its value")).Unlock()) + " " + said(other.Unlock())
		}},
	{name: "Unlock with a ctx that has ended", redsync: "not freed", shim: "freed",
		because: "ctx ends the wait, and not the release",
		see: func(t *testing.T, c scene) string {
			m := c.locked(t, expiry(20*time.Second))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if ok, err := m.UnlockContext(ctx); !ok {
				require.ErrorIs(t, err, context.Canceled)
			}
			if _, real := m.(*redsync.Mutex); real { // nothing was sent
				require.GreaterOrEqual(t, having(t, c.masters, c.key, m.Value()), 2)
				return "not freed"
			}
			free(t, c.masters, c.key)
			return "freed"
		}},

	// Extend.
	{name: "Extend lets the lock live for the expiry from now on", redsync: "true nil true",
		see: func(t *testing.T, c scene) string {
			m := c.locked(t, expiry(20*time.Second))
			until := m.Until()
			await.True(t, func() bool { return left(t, c.masters[0], c.key) < 19*time.Second })
			shorter := left(t, c.masters[0], c.key)
			result := said(m.Extend())
			longer := func() bool { return left(t, c.masters[0], c.key) > shorter }
			await.True(t, longer)
			return fmt.Sprint(result, " ", m.Until().After(until))
		}},
	{name: "Extend of what ran out", redsync: "false ErrTaken true",
		see: func(t *testing.T, c scene) string {
			m := c.expired(t)
			return fmt.Sprint(said(m.Extend()), " ", having(t, c.masters, c.key, "") == 3)
		}},
	{name: "Extend of what is another's by now", redsync: "false ErrTaken",
		see: func(t *testing.T, c scene) string {
			m := c.expired(t)
			c.taken(t)
			return said(m.Extend())
		}},
	{name: "Extend of what was never locked", redsync: "false ErrTaken",
		see: func(t *testing.T, c scene) string { return said(c.mutex().Extend()) }},
	{name: "Extend after Unlock", redsync: "false ErrTaken",
		see: func(t *testing.T, c scene) string {
			m := c.locked(t)
			unlock(t, m)
			free(t, c.masters, c.key)
			return said(m.Extend())
		}},
	{name: "Extend of what somebody deleted", redsync: "false ErrTaken, false ErrLockAlreadyExpired",
		see: func(t *testing.T, c scene) string {
			m := c.locked(t)
			remove(t, c)
			return said(m.Extend()) + ", " + said(m.Unlock())
		}},
	{name: "WithSetNXOnExtend Extend takes what ran out again", redsync: "true nil true true nil",
		see: func(t *testing.T, c scene) string {
			m := c.expired(t, setNXOnExtend())
			result := said(m.Extend())
			return fmt.Sprint(result, " ", having(t, c.masters, c.key, m.Value()) >= 2, " ", said(m.Unlock()))
		}},
	{name: "WithSetNXOnExtend the value stays", redsync: "true", shim: "false", because: alwaysBeen,
		see: func(t *testing.T, c scene) string {
			m := c.locked(t, setNXOnExtend(), expiry(short))
			value := m.Value()
			free(t, c.masters, c.key)
			require.Equal(t, "true nil", said(m.Extend()))
			return fmt.Sprint(m.Value() == value)
		}},
	{name: "WithSetNXOnExtend Extend takes nothing from another", redsync: "false ErrTaken",
		see: func(t *testing.T, c scene) string {
			m := c.expired(t, setNXOnExtend())
			c.taken(t)
			return said(m.Extend())
		}},
	{name: "WithSetNXOnExtend Extend takes what nobody has by its value", redsync: "true nil, true nil",
		see: func(t *testing.T, c scene) string {
			m := c.mutex(value("nobody's"), setNXOnExtend())
			return said(m.Extend()) + ", " + said(m.Unlock())
		}},

	// WithValue.
	{name: "WithValue of another's lock unlocks it", redsync: "true true nil nil",
		see: func(t *testing.T, c scene) string {
			other := c.taken(t)
			m := c.mutex(value(other.Value()))
			same, result := m.Value() == other.Value(), said(m.Unlock())
			free(t, c.masters, c.key)
			return fmt.Sprint(same, " ", result, " ", kinds(c.mutex().TryLock()))
		}},
	{name: "what somebody else unlocked WithValue is locked again here", redsync: "nil",
		see: func(t *testing.T, c scene) string {
			m := c.locked(t, expiry(short))
			unlock(t, c.other(value(m.Value())))
			return kinds(c.mutex(tries(200)).Lock())
		}},
	{name: "WithValue of another's lock extends it", redsync: "true nil true true nil",
		see: func(t *testing.T, c scene) string {
			other := c.taken(t, expiry(10*time.Second))
			for _, master := range c.masters {
				left(t, master, c.key) // a late master has the lock too, and so extends it
			}
			until, m := other.Until(), c.mutex(value(other.Value()), expiry(20*time.Second))
			result := said(m.Extend())
			await.True(t, func() bool { return left(t, c.masters[0], c.key) > 10*time.Second })
			return fmt.Sprint(result, " ", m.Until().After(until), " ", said(m.Unlock()))
		}},
	{name: "WithValue of nobody's", redsync: "false ErrLockAlreadyExpired, false ErrTaken",
		see: func(t *testing.T, c scene) string {
			m := c.mutex(value("nobody's"))
			return said(m.Unlock()) + ", " + said(m.Extend())
		}},
	{name: "Lock forgets WithValue", redsync: "nil true",
		see: func(t *testing.T, c scene) string {
			m := c.mutex(value("another's"))
			return fmt.Sprint(kinds(m.Lock()), " ", m.Value() != "another's")
		}},

	// Valid.
	{name: "Valid is true while the lock is held", redsync: "true nil, false ErrTaken",
		see: func(t *testing.T, c scene) string {
			m := c.locked(t)
			held := said(m.Valid())
			unlock(t, m)
			free(t, c.masters, c.key)
			return held + ", " + said(m.Valid())
		}},
	{name: "Valid is false once it ran out", redsync: "false ErrTaken",
		see: func(t *testing.T, c scene) string { return said(c.expired(t).Valid()) }},
	{name: "Valid is false of what was never locked", redsync: "false ErrTaken",
		see: func(t *testing.T, c scene) string {
			c.taken(t)
			return said(c.mutex().Valid())
		}},
	{name: "Valid of another's lock WithValue", redsync: "true",
		see: func(t *testing.T, c scene) string {
			ok, _ := c.mutex(value(c.taken(t).Value())).Valid() // with Redsync, an error for a master that is late
			return fmt.Sprint(ok)
		}},
	{name: "Valid of what somebody deleted", redsync: "false ErrTaken", shim: "true nil",
		because: "Valid goes by the clock, as Redsync advises with Until; Extend asks the masters",
		see: func(t *testing.T, c scene) string {
			m := c.locked(t)
			remove(t, c)
			return said(m.Valid())
		}},

	// Options.
	{name: "WithDriftFactor makes validity shorter", redsync: "nil true true",
		see: func(t *testing.T, c scene) string {
			before := time.Now()
			m := c.mutex(expiry(20*time.Second), drift(0.5))
			err := m.Lock()
			return fmt.Sprint(kinds(err), " ", m.Until().After(before.Add(5*time.Second)), " ", m.Until().Before(time.Now().Add(10*time.Second+time.Millisecond)))
		}},
	{name: "WithDriftFactor that leaves no validity", redsync: "ErrFailed", shim: "engine.ErrInvalid", because: "it makes no sense",
		see: func(t *testing.T, c scene) string { return kinds(c.mutex(drift(1), tries(1)).Lock()) }},
	{name: "WithTries 0", redsync: "ErrFailed", shim: "engine.ErrInvalid", because: "it makes no sense",
		see: func(t *testing.T, c scene) string { return kinds(c.mutex(tries(0)).Lock()) }},
	{name: "WithGenValueFunc", redsync: "nil mine", shim: "engine.ErrInvalid ", because: alwaysBeen,
		see: func(t *testing.T, c scene) string {
			m := c.mutex(genValue("mine"))
			return kinds(m.Lock()) + " " + m.Value()
		}},
}

func unlock(t *testing.T, m mutex) {
	t.Helper()
	ok, err := m.Unlock()
	require.NoError(t, err)
	require.True(t, ok)
}

// remove deletes the key at all masters.
func remove(t *testing.T, c scene) {
	t.Helper()
	for _, m := range c.masters {
		await.Equal(t, int64(1), func() any { return redistest.Command(t, m, "DEL", c.key) })
	}
}

func TestShimBehavesLikeRedsync(t *testing.T) {
	masters := three(t)
	addresses := redistest.Addrs(masters)
	real, own := openRedsync(t, addresses), openShim(t, addresses)
	for _, with := range []struct {
		name        string
		shim        bool
		mine, rival library
	}{
		{"Redsync alone", false, real, real},
		{"Redsync beside the shim", false, real, own},
		{"the shim alone", true, own, own},
		{"the shim in two processes", true, own, openShim(t, addresses)},
		{"the shim beside Redsync", true, own, real},
	} {
		for _, b := range behaviours {
			t.Run(with.name+"/"+b.name, func(t *testing.T) {
				t.Parallel()
				want := b.redsync
				if with.shim && b.shim != "" {
					want = b.shim
				}
				require.Equal(t, want, b.see(t, scene{masters: masters, key: newKey(t), mine: with.mine, rival: with.rival}))
			})
		}
	}
}

func TestDifferencesAreListedWithTheirReason(t *testing.T) {
	var names []string
	for _, b := range behaviours {
		require.Equal(t, b.shim != "", b.because != "", b.name)
		require.NotEqual(t, b.redsync, b.shim, b.name)
		names = append(names, b.name)
	}
	slices.Sort(names)
	require.Equal(t, len(behaviours), len(slices.Compact(names)), "each once")
}
