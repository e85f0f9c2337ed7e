package servertest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/pipeline"
)

func TestLeastPrivilegesAreAllNeeded(t *testing.T) {
	masters := redistest.Masters(t, 1)
	needed := redistest.DocumentedRights(t).Needed
	without := 0
	for i, right := range needed {
		command, isCommand := strings.CutPrefix(right, "+")
		if !isCommand && !strings.HasPrefix(right, "~__muxlock__") {
			continue
		}
		rest := append(append([]string(nil), needed[:i]...), needed[i+1:]...)
		_, err := openAs(t, masters, rest)
		require.ErrorIs(t, err, engine.ErrInvalid, right)
		require.ErrorContains(t, err, "NOPERM", right)
		if isCommand {
			require.Contains(t, strings.ToLower(err.Error()), command)
		}
		without++
	}
	require.Equal(t, 9, without)
}

func TestLeastPrivilegesSuffice(t *testing.T) {
	masters := redistest.Masters(t, 3)
	r := redistest.DocumentedRights(t)
	require.ElementsMatch(t, []string{"+mget", "+msetnx", "+client|tracking", "+client|caching"}, r.Faster)
	native := redistest.NativeRights(t, masters[0])
	for _, rights := range [][]string{r.Needed, slices.Concat(r.Needed, r.Faster), slices.Concat(r.Needed, native)} {
		for _, m := range masters {
			redistest.Command(t, m, "CONFIG", "RESETSTAT")
		}
		e, err := openAs(t, masters, rights)
		require.NoError(t, err)
		var callers sync.WaitGroup
		for i := range 64 { // some rounds are folded, some waiters are woken or poll
			callers.Go(func() {
				for turn := range 10 {
					lock, err := e.Acquire(t.Context(), fmt.Sprint("locks:", (i+turn)%40), 0)
					if err == nil {
						err = lock.Extend(t.Context(), 0)
					}
					if err == nil {
						err = lock.Release(t.Context())
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		callers.Wait()
		set := mustAcquireAll(t, e, "locks:a", "locks:b", "locks:c")
		_, err = e.TryAcquireAll(t.Context(), []string{"locks:d", "locks:b"}, 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.NoError(t, set.Extend(t.Context(), 0))
		require.NoError(t, set.Release(t.Context()))
		for _, m := range e.Stats().Masters {
			require.Zero(t, m.SetAside, "%v", m.Cause)
		}
		require.NoError(t, e.Close())
		await.Equal(t, 0, func() any { return len(redistest.Keys(t, masters...)) })
		for _, right := range native {
			used := regexp.MustCompile("cmdstat_" + right[1:] + ":calls=[1-9]").MatchString(redistest.Command(t, masters[0], "INFO", "commandstats").(string))
			require.Equal(t, slices.Contains(rights, right), used, right)
		}
	}
}

func TestReadersNeedTheirDocumentedRightsAndWritersDoNot(t *testing.T) {
	masters := redistest.Masters(t, 3)
	needed, shared := redistest.DocumentedRights(t).Needed, redistest.DocumentedRights(t).Shared
	for i, right := range append(shared, "none") {
		rest := slices.Clone(shared)
		if right != "none" {
			rest = slices.Delete(rest, i, i+1)
		}
		var engines []*engine.Engine
		var errs []error
		for range 4 {
			e, err := openAs(t, masters, slices.Concat(needed, rest))
			require.NoError(t, err)
			engines = append(engines, e)
		}
		writer, readers := engines[0], engines[1:]
		var locks []*engine.Lock
		for _, e := range readers {
			lock, err := e.TryAcquireShared(t.Context(), "locks:n", 0)
			if errs = append(errs, err); err == nil {
				locks = append(locks, lock)
			}
		}
		for _, l := range locks {
			errs = append(errs, l.Extend(t.Context(), 20*time.Second))
		}
		wait := 50 * time.Millisecond
		if len(locks) == 0 {
			wait = 5 * await.Patience
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := writer.Acquire(ctx, "locks:n", 0)
		cancel()
		require.Equal(t, len(locks) == 0, err == nil, right)
		for _, l := range locks {
			errs = append(errs, l.Release(t.Context()))
		}
		errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
		if right == "none" || right == "+zcard" { // only intents need that
			require.Empty(t, errs)
			cycle(t, writer, "locks:n")
		} else {
			require.NotEmpty(t, errs, right)
		}
		for _, err := range errs {
			require.ErrorIs(t, err, engine.ErrDenied, right)
		}
		for _, e := range engines {
			cycle(t, e, "locks:m")
			require.Zero(t, setAside(e, 0), right)
			require.NoError(t, e.Close())
		}
		for _, m := range masters {
			redistest.Command(t, m, "DEL", "locks:n", pipeline.IntentPrefix+"locks:n")
		}
	}
}

func TestFencingNeedsItsDocumentedRights(t *testing.T) {
	masters := fencedSet(t, 1)
	needed, fencing := redistest.DocumentedRights(t).Needed, redistest.DocumentedRights(t).Fencing
	all := append(needed, fencing...)
	for i := len(needed); i < len(all); i++ {
		_, err := openAs(t, masters, slices.Concat(all[:i], all[i+1:]), fenced)
		require.ErrorIs(t, err, engine.ErrInvalid, all[i])
		require.ErrorContains(t, err, "NOPERM", all[i])
	}
	e, err := openAs(t, masters, all, fenced)
	require.NoError(t, err)
	lock := mustAcquire(t, e, "locks:"+t.Name(), 0)
	require.NotZero(t, lock.Fence())
	require.NoError(t, lock.Release(t.Context()))
}

func TestWhatIsDeniedIsNotTriedAgain(t *testing.T) {
	r := redistest.DocumentedRights(t)
	servers := redistest.Masters(t, 3)
	native := redistest.NativeRights(t, servers[0])
	full := slices.Concat(r.Needed, r.Faster, r.Shared, r.Lines, r.Fencing, native)
	for what, rights := range map[string][]string{"full": full, "least": r.Needed, "readers": slices.Concat(r.Needed, r.Shared), "no lines": slices.Concat(r.Needed, r.Faster, native)} {
		t.Run(what, func(t *testing.T) {
			masters := redistest.Masters(t, 3)
			one, err := openAs(t, masters, rights)
			require.NoError(t, err)
			two, err := openAs(t, masters, rights)
			require.NoError(t, err)
			engines := []*engine.Engine{one, two}
			readers := what == "full" || what == "readers"
			use := func() {
				for _, e := range engines {
					var callers sync.WaitGroup
					for i := range 64 {
						callers.Go(func() { cycle(t, e, fmt.Sprint("locks:", i)) })
					}
					callers.Wait()
				}
				var callers sync.WaitGroup
				for _, e := range engines {
					for i := range 4 {
						callers.Go(func() {
							for range 10 {
								type lock interface{ Release(context.Context) error }
								ctx := t.Context()
								each := map[string]func() (lock, error){
									"contention": func() (lock, error) { return e.Acquire(ctx, "locks:n", 0) },
									"permits":    func() (lock, error) { return e.AcquirePermit(ctx, "locks:p", 2, 0) },
									"sets":       func() (lock, error) { return e.AcquireAll(ctx, []string{"locks:s", fmt.Sprint("locks:s", i)}, 0) },
									"readers": func() (lock, error) {
										if i == 0 {
											return e.Acquire(ctx, "locks:r", 0)
										}
										return e.AcquireShared(ctx, "locks:r", 0)
									},
								}
								if !readers {
									delete(each, "readers")
								}
								for verb, acquire := range each {
									lock, err := acquire()
									if err == nil {
										time.Sleep(time.Millisecond) // a hold
										err = lock.Release(t.Context())
									}
									if err != nil {
										t.Error(verb, err)
									}
								}
							}
						})
					}
				}
				callers.Wait()
				lock := mustAcquire(t, one, "locks:held", 0)
				ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond) // beyond the signs of life of silent connections
				_, err := two.Acquire(ctx, "locks:held", 0)
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.NoError(t, lock.Release(t.Context()))
			}
			use()
			n, denied := redistest.Denials(t, masters)
			if what == "full" {
				require.Zero(t, n, denied)
				return
			}
			require.NotZero(t, n, "each connection tries")
			for range 4 { // a connection tries what is optional when it is first of use
				use()
				if n, denied = redistest.Denials(t, masters); n == 0 {
					return
				}
			}
			t.Error("denied again:", denied)
		})
	}
}

func mustAcquireAll(t testing.TB, e *engine.Engine, names ...string) *engine.Set {
	t.Helper()
	s, err := e.AcquireAll(context.Background(), names, 0)
	require.NoError(t, err)
	return s
}

func TestSetWithADeniedNameBlamesNoOther(t *testing.T) {
	masters := redistest.Masters(t, 3)
	for _, m := range masters {
		redistest.Command(t, m, "ACL", "SETUSER", "locks", "on", ">secret", "~allowed:*", "~__muxlock__:*", "+@all")
	}
	e := open(t, masters, func(c *engine.Config) { c.Client.Username, c.Client.Password = "locks", "secret" })
	_, err := e.AcquireAll(t.Context(), []string{"allowed:a", "denied", "allowed:b"}, 0)
	require.ErrorIs(t, err, engine.ErrDenied)
	require.NotContains(t, err.Error(), "allowed:", "the masters do not say which name it is")
	require.ErrorContains(t, err, "NOPERM")
	await.True(t, func() bool { return pendingReleases(e) == 0 && len(redistest.Keys(t, masters...)) == 0 })
}
