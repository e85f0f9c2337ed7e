package bench

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func draw(cfg Config, stream uint64, n int) []int {
	g := newKeyGen(cfg, newZipf(cfg), stream, 7)
	out := make([]int, n)
	for i := range out {
		out[i] = g.next()
	}
	return out
}

func TestZipfFollowsItsLawForAnyExponent(t *testing.T) {
	const keys, draws = 50, 400_000
	for _, s := range []float64{0.3, 0.99, 1, 1.0000001, 1.5, 3} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			cfg := Config{Keys: keys, Dist: Zipf(s), Seed: 42}
			var got [keys]float64
			for _, k := range draw(cfg, 0, draws) {
				got[k]++
			}
			var norm float64
			for k := 1; k <= keys; k++ {
				norm += math.Pow(float64(k), -s)
			}
			for k := range keys {
				want := math.Pow(float64(k+1), -s) / norm * draws
				require.InDelta(t, want, got[k], 5*math.Sqrt(want)+1, "rank %d", k+1) // 5 sigma
			}
		})
	}
}

func TestOneZipfKeyIsAlwaysThatKey(t *testing.T) {
	for _, k := range draw(Config{Keys: 1, Dist: Zipf(0.99)}, 0, 1000) {
		require.Zero(t, k)
	}
}

func TestUniformUsesEveryKeyAlike(t *testing.T) {
	var got [10]int
	for _, k := range draw(Config{Keys: 10, Dist: Uniform(), Seed: 1}, 0, 100_000) {
		got[k]++
	}
	for _, n := range got {
		require.InDelta(t, 10_000, n, 500)
	}
}

func TestOwnKeyIsTheWorkersOwn(t *testing.T) {
	require.Equal(t, []int{7, 7, 7}, draw(Config{Keys: 100}, 3, 3))
}

func TestSameSeedSameKeysOtherSeedOrWorkerOthers(t *testing.T) {
	for _, d := range []Dist{Uniform(), Zipf(0.99)} {
		cfg := Config{Keys: 1000, Dist: d, Seed: 5}
		other := cfg
		other.Seed = 6
		require.Equal(t, draw(cfg, 1, 100), draw(cfg, 1, 100))
		require.NotEqual(t, draw(cfg, 1, 100), draw(cfg, 2, 100))
		require.NotEqual(t, draw(cfg, 1, 100), draw(other, 1, 100))
	}
}

func TestNamesAreDistinctAndPrefixed(t *testing.T) {
	require.Equal(t, []string{"p:0"}, names("p:", 1))
	all := names("p:", 1001)
	require.Len(t, all, 1001)
	for i, n := range all {
		require.Equal(t, fmt.Sprintf("p:%d", i), n)
	}
}
