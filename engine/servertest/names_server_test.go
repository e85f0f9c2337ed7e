package servertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/limits"
	"muxlock/internal/testing/redistest"
)

func TestNamesAreBytes(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	names := []string{
		"\x00", "a\x00b", "\r\n", "a\r\nSET b c\r\n", "\xff\xfe", "{a}b", "{", "*?[a]", "$5", " ", "\"'\\",
		"ünïcødé", strings.Repeat("x", limits.NameBytes), strings.Repeat("\xff", limits.NameBytes), "__muxlock__", "__muxlock_", "-", "+1",
	}
	for i, name := range names {
		if len(name) < 256 {
			names[i] += "|" + t.Name()
		}
	}
	all := func(work func(name string) error) {
		var every sync.WaitGroup
		for _, name := range names {
			every.Go(func() {
				if err := work(name); err != nil {
					t.Errorf("%q: %v", name, err)
				}
			})
		}
		every.Wait()
	}
	for _, how := range []string{"one by one", "folded"} {
		locks, mu := make(map[string]*engine.Lock), sync.Mutex{}
		take := func(name string) error {
			lock, err := e.TryAcquire(context.Background(), name, 0)
			mu.Lock()
			defer mu.Unlock()
			locks[name] = lock
			return err
		}
		extend := func(name string) error { return locks[name].Extend(context.Background(), 20*time.Second) }
		release := func(name string) error { return locks[name].Release(context.Background()) }
		run := all
		if how == "one by one" {
			run = func(work func(string) error) {
				for _, name := range names {
					require.NoError(t, work(name), "%q", name)
				}
			}
		}
		run(take)
		for _, name := range names {
			require.NotNil(t, locks[name])
			everywhere(t, masters[:2], locks[name])
		}
		run(extend)
		run(release)
		redistest.Gone(t, masters[:2], names...)
	}
}

func TestWrongTypeOfOneKeyHitsOnlyItsOwnCallInABatch(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	locks := make([]*engine.Lock, 64)
	each := func(work func(i int)) {
		var all sync.WaitGroup
		for i := range locks {
			all.Go(func() { work(i) })
		}
		all.Wait()
	}
	each(func(i int) {
		var err error
		if locks[i], err = e.TryAcquire(context.Background(), fmt.Sprint(t.Name(), i), 0); err != nil {
			t.Error(err)
		}
	})
	require.False(t, t.Failed())
	everywhere(t, masters, locks[7])
	for _, m := range masters {
		redistest.Command(t, m, "DEL", locks[7].Name())
		redistest.Command(t, m, "LPUSH", locks[7].Name(), "x")
	}
	errs := make([]error, len(locks))
	each(func(i int) { errs[i] = locks[i].Extend(context.Background(), 20*time.Second) })
	require.Greater(t, e.Stats().LargestRound, 8, "folded")
	require.ErrorIs(t, errs[7], engine.ErrLost)
	require.ErrorIs(t, errs[7], engine.ErrNotHeld, "what is there is not ours")
	errs[7] = nil
	require.NoError(t, errors.Join(errs...))
	each(func(i int) { errs[i] = locks[i].Release(context.Background()) })
	require.Error(t, errs[7])
	errs[7] = nil
	require.NoError(t, errors.Join(errs...))
	_, err := e.TryAcquire(t.Context(), locks[7].Name(), 0)
	require.ErrorIs(t, err, engine.ErrTaken, "something is there")
	for i, m := range e.Stats().Masters {
		require.True(t, m.Up, "one name's trouble is not its master's")
		require.Zero(t, m.SetAside)
		require.Equal(t, int64(1), redistest.Command(t, masters[i], "DEL", locks[7].Name()), "still there")
	}
}
