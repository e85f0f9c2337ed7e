package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/line"
	"muxlock/internal/peaks"
)

func TestPeaksAreAllThatAreAtLeastSoLong(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var all []int64
	parts := [2]*Peaks{{}, {}}
	for i := range 20_000 {
		ns := int64(1e6 * rng.ExpFloat64())
		all = append(all, ns)
		parts[i%2].add(int64(i), ns)
	}
	merged := mergePeaks(parts[0], nil, parts[1])
	slices.Sort(all)
	var got []int64
	for i, k := range merged.All {
		require.GreaterOrEqual(t, k.Ns, merged.FromNs)
		require.True(t, i == 0 || k.AtNs > merged.All[i-1].AtNs, "in the order of their times")
		got = append(got, k.Ns)
	}
	slices.Sort(got)
	require.Greater(t, len(got), peaks.Most/2-1)
	require.LessOrEqual(t, len(got), peaks.Most)
	require.Equal(t, all[len(all)-len(got):], got)
	require.Nil(t, mergePeaks(nil))
	two := mergePeaks(&Peaks{FromNs: 2, All: []Peak{{AtNs: 2, Ns: 3}}}, &Peaks{FromNs: 3, All: []Peak{{AtNs: 1, Ns: 3}, {AtNs: 3, Ns: 2}}})
	require.Equal(t, &Peaks{FromNs: 3, All: []Peak{{AtNs: 1, Ns: 3}, {AtNs: 2, Ns: 3}}}, two)
}

type until struct {
	noop
	time.Time
}

func (u until) Until() time.Time { return u.Time }

// promising is an Allower.
type promising struct{ grants }

const promised = 102 * time.Millisecond

func (promising) Allowance(time.Duration) time.Duration { return promised }

func TestLockWithAShortLeaseFromAnotherProcessSaysNothingOfItsAttempt(t *testing.T) {
	r := &runner{cfg: Config{TTL: 10 * time.Second, Procs: 2}}
	require.EqualValues(t, -1, r.used(0, int64(line.Passed(10*time.Second))), "it was passed on")
	require.EqualValues(t, 10*time.Second-line.Passed(10*time.Second)-1, r.used(0, int64(line.Passed(10*time.Second))+1))
	r.cfg.Procs = 1
	require.EqualValues(t, 8*time.Second, r.used(0, int64(2*time.Second)), "nobody passes it on")
}

func TestValidityUsedIsThatOfTheWinningAttempt(t *testing.T) {
	locker := grants(func(_ context.Context, _ string, ttl time.Duration) (Held, error) {
		time.Sleep(900 * time.Millisecond) // attempts that fail
		sent := time.Now()
		time.Sleep(5 * time.Millisecond)
		return until{Time: sent.Add(ttl - promised)}, nil
	})
	cfg := Config{Workers: 1, Duration: 10 * time.Second, TTL: 10 * time.Second}
	res := measure(t, promising{locker}, cfg)
	require.InEpsilon(t, 905e6, res.Latency[AcquireTime].Max, 1e-2, "until held")
	used := res.Latency[ValidityUsedTime]
	require.InEpsilon(t, 5e6, used.Max, 1e-2)
	require.EqualValues(t, 12, used.Count, "one in the drain")
	require.Nil(t, measure(t, locker, cfg).Latency[ValidityUsedTime], "it does not tell")
}
