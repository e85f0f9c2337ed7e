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
			if g.Kind.Forgets() {
				until += rest
			}
			if (f.Master < 0) != (g.Master < 0) {
				continue // a client's fault beside a master's
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
	if testing.Short() {
		t.Skip("one goroutine")
	}
	lottery := faults.Lottery{Run: faults.Run{Masters: 5, Clients: 2, Duration: 5 * time.Minute}, Kinds: faults.Kinds, AtOnce: 2, TTL: 500 * time.Millisecond, Rest: time.Second}
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
	list, err := faults.Lottery{Run: faults.Run{Masters: 1, Duration: 10 * time.Second}, Kinds: []faults.Kind{faults.Restart}, AtOnce: 1, TTL: time.Second}.Draw()
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
