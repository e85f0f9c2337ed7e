package bench

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// several is leases of several names. half has it take all but one name of a set.
type several struct {
	*leases
	half bool
}

type severalHeld []Held

func (l several) AcquireAll(ctx context.Context, names []string, ttl time.Duration) (Held, error) {
	return untilHeld(ctx, l.poll, func() (Held, error) {
		held, got, err := l.AcquireMany(ctx, names, ttl)
		if err != nil || len(got) == len(names) || l.half && len(got) >= len(names)-1 {
			return held, err
		}
		_ = held.Release(ctx)
		return nil, ErrRefused
	})
}

func (l several) AcquireMany(ctx context.Context, names []string, ttl time.Duration) (Held, []int, error) {
	var all severalHeld
	var got []int
	for i, name := range names {
		if h, err := l.TryAcquire(ctx, name, ttl); err == nil {
			all, got = append(all, h), append(got, i)
		}
	}
	if len(got) == 0 {
		return nil, nil, ErrRefused
	}
	return all, got, nil
}

func (a severalHeld) Until() time.Time     { return a[0].Until() }
func (a severalHeld) FenceOf(i int) uint64 { return fenceOf(a[min(i, len(a)-1)]) }
func (a severalHeld) Release(ctx context.Context) error {
	for _, h := range a {
		_ = h.Release(ctx)
	}
	return nil
}

func runSeveral(t *testing.T, l Locker, change func(*Config)) *Result {
	t.Helper()
	cfg := Config{Workers: 8, Keys: 12, Dist: Uniform(), Duration: 2 * time.Second, TTL: time.Second, Op: All(4), Hold: Fixed(3 * time.Millisecond), Think: Fixed(time.Millisecond)}
	change(&cfg)
	return measure(t, l, cfg)
}

// fencedSeveral is a correct lock of several names.
func fencedSeveral(fence func(uint64) uint64) several {
	return several{leases: newFencedLeases(fence).leases}
}

func TestEachNameOfASetIsAudited(t *testing.T) {
	for _, op := range []Op{All(4), Many(4)} {
		res := runSeveral(t, fencedSeveral(growing), func(c *Config) { c.Op = op })
		require.Greater(t, res.Totals.Acquired, int64(300), op)
		require.Zero(t, res.Safety.Overlaps, op)
		require.Zero(t, res.Safety.FenceViolations, op)
		require.Equal(t, op == Many(4), res.Totals.Refused > 0, op)
	}
	require.Positive(t, runSeveral(t, several{leases: newLeases(1, time.Millisecond), half: true}, func(*Config) {}).Safety.Overlaps, "half a set is held")
	res := runSeveral(t, several{leases: newLeases(2, time.Millisecond)}, func(c *Config) { c.Op = Many(3) })
	require.Positive(t, res.Safety.Overlaps, "two hold a name")
}

// The names of a set have fences of their own.
func TestHistoryShowsTheFenceOfEachNameOfASet(t *testing.T) {
	res := runSeveral(t, fencedSeveral(repeating), func(c *Config) { c.Dist, c.History = Zipf(1), 64 })
	require.Positive(t, res.Safety.FenceViolations)
	seen := 0
	for _, e := range res.History {
		if !e.Overlap {
			continue
		}
		seen++
		require.True(t, slices.ContainsFunc(res.History, func(before Event) bool {
			return before.Kind == EventAcquired && before.Key == e.Key && before.Fence == e.Fence && before.ToNs < e.ToNs
		}), "the hold before of %s has %d, too", e.Key, e.Fence)
	}
	require.Greater(t, seen, 2)
}

func TestACallOfSeveralNamesCountsThem(t *testing.T) {
	for op, want := range map[Op]struct{ names, fences int64 }{All(4): {0, 4}, Many(5): {5, 5}, Try: {}} {
		all := runSeveral(t, fencedSeveral(growing), func(c *Config) { c.Dist, c.Keys, c.Op = Dist{}, 0, op }).Totals
		require.Positive(t, all.Acquired)
		require.Equal(t, want.names*all.Acquired, all.Names, op)
		require.Equal(t, want.fences*all.Acquired, all.Fences, op)
		require.Equal(t, all.Acquired, all.Fenced)
	}
	partly := runSeveral(t, several{leases: newLeases(1, time.Millisecond)}, func(c *Config) { c.Op = Many(4) }).Totals
	require.Greater(t, partly.Names, partly.Acquired)
	require.Less(t, partly.Names, 4*partly.Acquired)
}

// failing is several that fails each name that follows the first, as if another group of masters was dead.
type failing struct{ several }

func (l failing) AcquireMany(ctx context.Context, names []string, ttl time.Duration) (Held, []int, error) {
	held, got, err := l.several.AcquireMany(ctx, names[:1], ttl)
	if len(names) == 1 {
		return held, got, err
	}
	return held, got, errors.New("no quorum")
}

func TestANameThatFailsIsAnErrorThoughOtherNamesAreHeld(t *testing.T) {
	for n, want := range map[int]bool{1: false, 4: true} {
		res := runSeveral(t, failing{several{leases: newLeases(1, time.Millisecond)}}, func(c *Config) { c.Dist, c.Op = Dist{}, Many(n) })
		require.Greater(t, res.Totals.Acquired, int64(300))
		require.Zero(t, res.Totals.Failed, "it holds a name")
		require.Greater(t, res.Latency[ReleaseTime].Count, int64(300), "and releases it")
		if want {
			require.InDelta(t, res.Totals.Acquired, res.Totals.Errors, 0, "one a call, except at the end of the drain")
			require.Equal(t, []string{"acquire: no quorum"}, res.ErrorSamples)
		} else {
			require.Zero(t, res.Totals.Errors)
			require.Empty(t, res.ErrorSamples)
		}
	}
}

func TestWorkersHaveSetsOfTheirOwn(t *testing.T) {
	l := newLeases(1, time.Millisecond)
	res := runSeveral(t, several{leases: l}, func(c *Config) { c.Dist, c.Op = Dist{}, Many(5) })
	require.Zero(t, res.Totals.Refused)
	require.Len(t, l.held, 8*5)
}

func TestSetIsTheNameThatIsDrawnAndThoseThatFollow(t *testing.T) {
	r := &runner{cfg: Config{Op: All(3), Dist: Uniform(), Keys: 5, Kept: 1}}
	w := &worker{r: r}
	for key, want := range map[int][]int{0: {0, 1, 2}, 3: {3, 4, 0}, 4: {4, 0, 1}} {
		w.drawKeys(key)
		require.Equal(t, want, w.keys)
	}
	r.cfg.Dist, r.cfg.Workers = Dist{}, 2
	w.drawKeys(1)
	require.Equal(t, []int{3, 4, 5}, w.keys)
}

func TestOpOfSeveralNamesNeedsSoMany(t *testing.T) {
	cfg := Config{Workers: 1, Dist: Uniform(), Keys: 3, Duration: 1, TTL: time.Second, Op: All(4)}
	require.ErrorContains(t, cfg.Validate(), "--keys must be at least 4 with op all:4, got 3")
	cfg.Keys = 4
	require.NoError(t, cfg.Validate())
	require.True(t, cfg.Waits())
	cfg.Op = Many(4)
	require.False(t, cfg.Waits())
	require.Equal(t, []bool{true, true}, []bool{All(1).TakesSeveral(), Many(1).TakesSeveral()})
	require.Equal(t, []bool{true, false}, []bool{All(1).TakesAll(), Many(1).TakesAll()})
}
