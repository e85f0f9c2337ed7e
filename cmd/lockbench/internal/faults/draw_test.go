package faults_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/faults"
)

// atOnce returns the most masters that are faulty at one moment.
func atOnce(list []faults.Fault, rest time.Duration) (most int) {
	for _, f := range list {
		n := 0
		for _, g := range list {
			until := g.To
			switch g.Kind {
			case faults.Kill, faults.Restart, faults.Flush:
				until += rest
			}
			if g.From <= f.From && (f.From < until || f == g) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestDrawnFaultsHurtAMinorityAndRepeatWithTheirSeed(t *testing.T) {
	lottery := faults.Lottery{Kinds: faults.Kinds, Masters: 5, AtOnce: 2, Duration: 3 * time.Minute, TTL: 500 * time.Millisecond, Rest: time.Second}
	for seed := range uint64(50) {
		lottery.Seed = seed
		list, err := lottery.Draw()
		require.NoError(t, err)
		require.NoError(t, faults.Check(list))
		require.Greater(t, len(list), 20)
		require.LessOrEqual(t, atOnce(list, lottery.Rest), 2, "seed %d", seed)
		again, err := lottery.Draw()
		require.NoError(t, err)
		require.Equal(t, list, again)
		for _, kind := range faults.Kinds {
			require.True(t, slices.ContainsFunc(list, func(f faults.Fault) bool { return f.Kind == kind }), "seed %d: no %s", seed, kind)
		}
		last := slices.MaxFunc(list, func(a, b faults.Fault) int { return cmp.Compare(a.From, b.From) })
		require.Greater(t, last.From, lottery.Duration/2)
	}
	lottery.AtOnce = 3
	list, err := lottery.Draw()
	require.NoError(t, err)
	require.Equal(t, 3, atOnce(list, lottery.Rest), "the check can fail")
	lottery.Seed++
	other, err := lottery.Draw()
	require.NoError(t, err)
	require.NotEqual(t, list, other)
}

func TestDrawKnowsASingleMasterAndChosenKinds(t *testing.T) {
	list, err := faults.Lottery{Kinds: []faults.Kind{faults.Restart}, Masters: 1, AtOnce: 1, Duration: 10 * time.Second, TTL: time.Second}.Draw()
	require.NoError(t, err)
	require.NotEmpty(t, list)
	for _, f := range list {
		require.Equal(t, faults.Restart, f.Kind)
	}
	_, err = faults.ParseKinds([]string{"stop", "burn"})
	require.ErrorContains(t, err, "burn")
	_, err = faults.ParseKinds(nil)
	require.Error(t, err)
}
