package rivals_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/pipeline"
)

const ttl = 10 * time.Second

var muxlock, _ = rivals.Find("muxlock")

// locks returns every implementation that locks.
func locks() (all []rivals.Impl) {
	for _, impl := range rivals.All {
		if !impl.Yardstick {
			all = append(all, impl)
		}
	}
	return all
}

func open(t *testing.T, impl rivals.Impl, o rivals.Options) bench.Locker {
	t.Helper()
	o.TTL, o.MasterTimeout, o.Workers, o.NewMasters = ttl, 2*time.Second, 4, true
	l, err := impl.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// try repeats a TryAcquire that hit a timeout of its own: rueidislock gives each key 20 ms.
func try(ctx context.Context, l bench.Locker, name string) (held bench.Held, err error) {
	for {
		held, err = l.TryAcquire(ctx, name, ttl)
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return held, err
		}
	}
}

// excludes returns an error unless a second TryAcquire of a held name is refused, from the same client
// and from another, and granted after the release.
func excludes(ctx context.Context, one, other bench.Locker, name string) error {
	before := time.Now()
	held, err := try(ctx, one, name)
	if err != nil {
		return err
	}
	if until := held.Until(); until.Before(before.Add(ttl/2)) || until.After(time.Now().Add(ttl)) {
		return errors.New("Until is not what the ttl allows")
	}
	for _, l := range []bench.Locker{one, other} {
		if _, err := try(ctx, l, name); !errors.Is(err, bench.ErrRefused) {
			return errors.Join(errors.New("a held lock was not refused"), err)
		}
	}
	if err := held.Release(ctx); err != nil {
		return err
	}
	held, err = try(ctx, other, name)
	if err != nil {
		return errors.Join(errors.New("a released lock was not granted"), err)
	}
	return held.Release(ctx)
}

func TestEveryRivalExcludesAndReleases(t *testing.T) {
	servers := redistest.Masters(t, 3)
	set, err := masters.StartEmbedded(3)
	require.NoError(t, err)
	defer set.Close()
	for _, impl := range locks() {
		for where, o := range map[string]rivals.Options{"servers": {Masters: redistest.Addrs(servers)}, "embedded": {Masters: set.Addrs, NoTracking: true}} {
			t.Run(impl.Name+" on "+where, func(t *testing.T) {
				require.NoError(t, excludes(t.Context(), open(t, impl, o), open(t, impl, o), "excl-"+impl.Name))
				await.Equal(t, 0, func() any { return len(redistest.Keys(t, servers...)) }, "no key stays")
			})
		}
	}
}

// The negative control: the check above sees a lock that does not lock.
func TestNoopDoesNotExclude(t *testing.T) {
	impl, ok := rivals.Find("noop")
	require.True(t, ok)
	l := open(t, impl, rivals.Options{})
	require.Error(t, excludes(t.Context(), l, l, "any"))
}

// The ctx of an acquire bounds the wait, not the lock.
func TestAcquireWaitsForTheReleaseOrTheEndOfItsCtx(t *testing.T) {
	servers := redistest.Addrs(redistest.Masters(t, 3))
	for _, impl := range locks() {
		t.Run(impl.Name, func(t *testing.T) {
			t.Parallel()
			l := open(t, impl, rivals.Options{Masters: servers})
			ctx, cancel := context.WithCancel(t.Context())
			held, err := l.Acquire(ctx, impl.Name, ttl)
			require.NoError(t, err)
			cancel()
			_, err = try(t.Context(), l, impl.Name)
			require.ErrorIs(t, err, bench.ErrRefused, "it is held on")

			ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err = l.Acquire(ctx, impl.Name, ttl)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, bench.ErrRefused)

			got := make(chan error, 1)
			go func() {
				next, err := l.Acquire(t.Context(), impl.Name, ttl)
				if err == nil {
					err = next.Release(t.Context())
				}
				got <- err
			}()
			select {
			case err := <-got:
				require.Fail(t, "did not wait", "%v", err)
			case <-time.After(30 * time.Millisecond): // long enough for a refusal
			}
			require.NoError(t, held.Release(t.Context()), "the holder was not disturbed")
			require.NoError(t, <-got)
		})
	}
}

func TestEachNameLiesInOneGroupOfMasters(t *testing.T) {
	servers := redistest.Masters(t, 6)
	o := rivals.Options{Masters: redistest.Addrs(servers), Engine: result.Engine{Groups: 2}}
	one := open(t, muxlock, o)
	keys := func(servers ...*redisserver.Server) (n int) {
		for _, key := range redistest.Keys(t, servers...) {
			if !strings.HasPrefix(key, pipeline.ReservedPrefix) {
				n++
			}
		}
		return n
	}
	for i := range 16 {
		_, err := one.Acquire(t.Context(), fmt.Sprint("name", i), ttl)
		require.NoError(t, err)
	}
	await.Equal(t, 16*3, func() any { return keys(servers...) }, "on three masters each")
	require.Zero(t, keys(servers[:3]...)%3)
	require.NotZero(t, keys(servers[:3]...))
	require.NotZero(t, keys(servers[3:]...))
	require.NoError(t, excludes(t.Context(), one, open(t, muxlock, o), "name"))

	// Another split of the same masters is another map of groups.
	o.Groups = 3
	require.NoError(t, excludes(t.Context(), open(t, muxlock, o), open(t, muxlock, o), "name"))
}

func TestACallOfManyNamesTellsOfANameWithoutAQuorum(t *testing.T) {
	servers := redistest.Masters(t, 2)
	l := open(t, muxlock, rivals.Options{Masters: redistest.Addrs(servers), Engine: result.Engine{Groups: 2}})
	many := l.(bench.SeveralLocker)
	var dead, alive []string // names, by the group that they lie in
	for i := 0; len(dead) < 2 || len(alive) < 2; i++ {
		name := fmt.Sprint("name", i)
		held, err := l.Acquire(t.Context(), name, ttl)
		require.NoError(t, err)
		if slices.ContainsFunc(redistest.Keys(t, servers[0]), func(key string) bool { return strings.HasSuffix(key, ":"+name) }) {
			dead = append(dead, name)
		} else {
			alive = append(alive, name)
		}
		require.NoError(t, held.Release(t.Context()))
	}
	redistest.Down(t, servers[0])

	_, _, err := many.AcquireMany(t.Context(), dead[:1], ttl)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	first, got, err := many.AcquireMany(t.Context(), []string{dead[0], alive[0]}, ttl)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.Equal(t, []int{1}, got)
	_, got, err = many.AcquireMany(t.Context(), []string{dead[0], alive[0], dead[1], alive[0]}, ttl)
	require.ErrorIs(t, err, engine.ErrNoQuorum, "not that the last one is taken")
	require.Empty(t, got)
	second, got, err := many.AcquireMany(t.Context(), alive[:2], ttl)
	require.NoError(t, err, "a name that is taken is no error beside others")
	require.Equal(t, []int{1}, got)
	_, _, err = many.AcquireMany(t.Context(), alive[:2], ttl)
	require.ErrorIs(t, err, bench.ErrRefused)
	require.NoError(t, first.Release(t.Context()))
	require.NoError(t, second.Release(t.Context()))
}

func TestWhatARivalRunsOnIsTold(t *testing.T) {
	client := func(name string, o rivals.Options) result.Client {
		impl, ok := rivals.Find(name)
		require.True(t, ok)
		return impl.Client(o)
	}
	near := client("redsync-autopipeline", rivals.Options{Workers: 1024})
	require.Len(t, near.Versions, 2)
	require.Regexp(t, `^redsync .`, near.Versions[0]) // a test's build does not have which
	require.Regexp(t, `^go-redis .`, near.Versions[1])
	require.Equal(t, 10*runtime.GOMAXPROCS(0), near.Pool)
	require.Equal(t, 512, client("redsync-goredis", rivals.Options{Workers: 1024, Distant: true}).Pool)
	require.Regexp(t, `^redislock .*, go-redis .*, pool of \d+ to each master, the client repeats a failed command up to 3 times$`, client("redislock", rivals.Options{}).String())
	require.Empty(t, client("noop", rivals.Options{}).String())

	options := redis.NewClient(&redis.Options{}).Options()
	require.Equal(t, options.MaxRetries, near.Retries, "its default")
	require.Equal(t, options.PoolSize, near.Pool)
}

func TestAMasterThatIsNotThereIsNamed(t *testing.T) {
	for _, impl := range locks() {
		t.Run(impl.Name, func(t *testing.T) {
			_, err := impl.Open(t.Context(), rivals.Options{Masters: []string{"redis://:secret@127.0.0.1:1"}, TTL: ttl, Workers: 1})
			require.ErrorContains(t, err, "127.0.0.1:1")
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestEveryRivalConnectsFromItsAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8")
	}
	for _, impl := range locks() {
		t.Run(impl.Name, func(t *testing.T) {
			server := redistest.Masters(t, 1)
			redistest.Command(t, server[0], "CONFIG", "SET", "protected-mode", "no") // it would take 127.0.0.1 alone
			open(t, impl, rivals.Options{Masters: redistest.Addrs(server), From: "127.0.0.2"})
			require.Contains(t, redistest.Command(t, server[0], "CLIENT", "LIST"), " addr=127.0.0.2:")
		})
	}
}

// The fences of names that come together are those of each: the audit compares them name by name.
func TestNamesThatComeTogetherHaveTheirOwnFences(t *testing.T) {
	o := rivals.Options{Masters: redistest.Addrs(redistest.Masters(t, 3)), TTL: ttl}
	require.NoError(t, rivals.SetUp(t.Context(), o))
	o.Fencing = true
	l := open(t, muxlock, o)
	fence := func(name string) uint64 {
		held, err := l.Acquire(t.Context(), name, ttl)
		require.NoError(t, err)
		defer func() { require.NoError(t, held.Release(t.Context())) }()
		return held.(bench.Fencer).Fence()
	}
	names := []string{"taken", "a", "b"}
	taken, err := l.Acquire(t.Context(), names[0], ttl)
	require.NoError(t, err)
	for range 20 { // so that a fence of one is none of the other
		fence("a")
	}
	before := []uint64{0, fence("a"), fence("b")}
	check := func(held bench.Held, got []int) {
		for i, of := range got {
			was, now := before[of], held.(bench.ManyFencer).FenceOf(i)
			require.Greater(t, now, was)
			require.Less(t, now, was+10<<16, "a fence grows by 1<<16 with each lock")
			before[of] = now
		}
		require.NoError(t, held.Release(t.Context()))
	}
	many, got, err := l.(bench.SeveralLocker).AcquireMany(t.Context(), names, ttl)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, got)
	check(many, got)
	set, err := l.(bench.SeveralLocker).AcquireAll(t.Context(), names[1:], ttl)
	require.NoError(t, err)
	check(set, []int{1, 2})
	require.NoError(t, taken.Release(t.Context()))
}

func TestMastersThatDoNotVoteYetAreAReasonAndATime(t *testing.T) {
	o := rivals.Options{Masters: redistest.Addrs(redistest.Masters(t, 3)), TTL: ttl, Workers: 1}
	_, err := muxlock.Open(t.Context(), o)
	require.ErrorIs(t, err, engine.ErrRestarted)
	require.Regexp(t, `^0 of 3 masters vote, 2 are needed, in \d+(\.\d)?s; .*no vote for another .*--new-masters`, err.Error())

	o.Joins = true
	locker, err := muxlock.Open(t.Context(), o)
	require.NoError(t, err, "it waits for them")
	require.NoError(t, locker.Close())
}

func TestMastersThatWereStartedForTheRunGetSeveralTries(t *testing.T) {
	master := redistest.Masters(t, 1)[0]
	o := rivals.Options{Masters: []string{master.Addr()}, TTL: ttl, Workers: 1, Engine: result.Engine{MasterTimeout: 500 * time.Millisecond}}
	require.NoError(t, master.Pause())
	_, err := muxlock.Open(t.Context(), o)
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	o.NewMasters = true
	time.AfterFunc(700*time.Millisecond, func() { _ = master.Resume() })
	locker, err := muxlock.Open(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, locker.Close())
}

func TestEachEntryOfAnImplementationHasItsFences(t *testing.T) {
	require.True(t, rivals.CanFence([]string{rivals.Again("muxlock", 2)}))
	require.False(t, rivals.CanFence([]string{"muxlock-single", "redislock"}))
}
