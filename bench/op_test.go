package bench

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func All(n int) Op           { return numberedOp(opAll, n) }
func Many(n int) Op          { return numberedOp(opMany, n) }
func ReadWrite(reads int) Op { return numberedOp(opReadWrite, reads) }
func Permit(limit int) Op    { return numberedOp(opPermit, limit) }

func mixOf(t *testing.T, text string) (op Op) {
	t.Helper()
	require.NoError(t, op.UnmarshalText([]byte(text)))
	return op
}

func TestOpsAreReadAsPrintedAndNonsenseIsRefused(t *testing.T) {
	for _, s := range []string{"acquire-release", "try", "hold", "mix:extend=1", "mix:acquire-release=90,try=8,extend=2", "mix:try=1", "all:4", "many:1000", "read-write:0", "read-write:100", "permit:1", "permit:64"} {
		require.Equal(t, s, mixOf(t, s).String())
	}
	require.Equal(t, mixOf(t, "mix:try=1,extend=2"), mixOf(t, "mix:extend=2,try=1"))
	require.Equal(t, AcquireRelease, Op{})
	for _, s := range []string{
		"", "steal", "extend", "mix", "mix:", "mix:try", "mix:try=", "mix:try=0", "mix:try=-1", "mix:try=0.5", "mix:try=1000001",
		"mix:try=1,", "mix:try=1,try=2", "mix:hold=1", "mix:steal=1", "mix:mix:try=1", "mix:try=1=2", "try=1", "all", "all:", "all:0", "many:1001", "many:-1", "all:4.5", "mix:all:4=1", "read-write:", "read-write:101", "read-write:-1", "read-write:+8.5", "mix:read-write:80=1", "permit:0", "permit:65", "permit",
	} {
		require.ErrorIs(t, new(Op).UnmarshalText([]byte(s)), ErrConfig, s)
	}
}

func TestMixDrawsByWeightAndSeed(t *testing.T) {
	const draws = 100_000
	r := newRNG(42, 0)
	for text, want := range map[string][opHold]float64{
		"mix:acquire-release=90,try=8,extend=2": {0.9, 0.08, 0.02}, "read-write:0": {1}, "read-write:80": {opAcquireRelease: 0.2, opRead: 0.8},
		"read-write:100": {opRead: 1}, "try": {opTry: 1},
	} {
		op, got := mixOf(t, text), [opHold]float64{}
		for range draws {
			got[op.draw(r)]++
		}
		for kind, p := range want {
			require.InDelta(t, p*draws, got[kind], 5*math.Sqrt(draws*p*(1-p)), "%s %d", text, kind)
		}
	}
}

func TestALockerThatCannotDoItsOperationEndsARun(t *testing.T) {
	for why, cfg := range map[string]Config{
		"--op mix:try=1,extend=1: test has locks that cannot be extended": {Op: mixOf(t, "mix:try=1,extend=1")},
		"--op hold: test has locks that cannot be kept alive":             {Op: Hold},
		"test has locks that cannot be kept alive":                        {Kept: 1},
		"--op many:2: test takes one name at a time":                      {Op: Many(2)},
		"--op read-write:50: test lets nobody share a name":               {Op: ReadWrite(50)},
		"--op permit:2: test lets nobody share a name":                    {Op: Permit(2)},
	} {
		cfg.Workers, cfg.Keys, cfg.Duration, cfg.TTL = 2, 4, time.Minute, time.Second
		virtual(t, nil, slow{acquire: takes(time.Millisecond)}, cfg, func(t *testing.T, r *Result, err error) {
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, why)
		})
	}
}

// calls is a lock in memory that counts its calls. By default they return at once.
type calls struct {
	noop
	tries, acquires, extends, releases atomic.Int64

	extendFails error
	extendAt    time.Duration // since the acquire, of the last call
}

type call struct {
	noop
	c     *calls
	since time.Time
}

func (c *calls) Acquire(context.Context, string, time.Duration) (Held, error) {
	time.Sleep(time.Millisecond)
	c.acquires.Add(1)
	return call{c: c, since: time.Now()}, nil
}

func (c *calls) TryAcquire(context.Context, string, time.Duration) (Held, error) {
	time.Sleep(time.Millisecond)
	c.tries.Add(1)
	return call{c: c}, nil
}

func (h call) Extend(context.Context, time.Duration) error {
	h.c.extends.Add(1)
	h.c.extendAt = time.Since(h.since)
	time.Sleep(2 * time.Millisecond)
	return h.c.extendFails
}

func (h call) Release(context.Context) error {
	h.c.releases.Add(1)
	return nil
}

func TestMixDoesEachOperationAndExtendsHalfWay(t *testing.T) {
	for _, rate := range []float64{0, 50} {
		c := &calls{}
		cfg := Config{
			Workers: 1, Rate: rate, Duration: 20 * time.Second, TTL: time.Second, Seed: 42,
			Hold: Fixed(10 * time.Millisecond), Op: mixOf(t, "mix:acquire-release=1,try=2,extend=1"),
		}
		r := measure(t, c, cfg)
		all := float64(c.releases.Load())
		require.InEpsilon(t, all/2, c.tries.Load(), 0.15)
		require.InEpsilon(t, all/2, c.acquires.Load(), 0.15)
		require.InEpsilon(t, all/4, c.extends.Load(), 0.25)
		require.EqualValues(t, 5*ms, c.extendAt)
		require.InDelta(t, c.extends.Load(), r.Latency[ExtendTime].Count, 1)
		require.InEpsilon(t, 2e6, r.Latency[ExtendTime].P["50"], 0.001)
		require.InEpsilon(t, 1e6, r.Latency[CycleTime].Max, 0.001, "an extend is no part of a cycle")
		require.InDelta(t, all, r.Latency[CycleTime].Count, 1)
		require.Zero(t, r.Totals.Errors)
	}
}

func TestFailedExtendOfAMixIsOneErrorAndIsReleased(t *testing.T) {
	c := &calls{extendFails: errors.New("gone")}
	cfg := Config{Workers: 1, Duration: time.Second, TTL: time.Second, Op: mixOf(t, "mix:extend=1")}
	r := measure(t, c, cfg)
	require.InDelta(t, 250, r.Totals.Errors, 2) // 1 ms acquire, 2 ms extend, 1 ms pause
	require.InDelta(t, c.extends.Load(), c.releases.Load(), 0)
	require.Zero(t, r.Latency[CycleTime].Count)
	require.Zero(t, r.Latency[ExtendTime].Count)
	require.Equal(t, []string{"extend: gone"}, r.ErrorSamples)
}

func TestTryIsNoHandover(t *testing.T) {
	b := &baton{delay: 500 * time.Microsecond} // a try takes 1 ms, so many begin before a release and get the lock
	cfg := Config{
		Workers: 2, Keys: 1, Dist: Uniform(), Duration: time.Second, TTL: time.Minute, Seed: 1,
		Op: mixOf(t, "mix:try=1000000,acquire-release=1"), // nearly all are tries, but Config.Waits is true
	}
	virtual(t, b.inBubble, b, cfg, func(t *testing.T, r *Result, err error) {
		require.Greater(t, r.Totals.Acquired, int64(1000))
		require.Zero(t, r.Latency[HandoverTime].Count)
	})
}
