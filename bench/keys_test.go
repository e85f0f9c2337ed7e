package bench

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func Hotspot(names, operations float64) Dist {
	return Dist{distHotspot, [2]float64{names, operations}}
}

func draw(cfg Config, stream uint64, n int) []int {
	g := newKeyGen(cfg, newZipf(cfg), stream, 7)
	out := make([]int, n)
	for i := range out {
		out[i] = g.next()
	}
	return out
}

// requireLaw compares drawn counts with the exact distribution of keys by Pearson's chi-square. weight
// gives the probabilities up to a factor. Chi-square has n-1 degrees of freedom: mean n-1, deviation
// sqrt(2(n-1)). Fewer than one seed in ten thousand exceeds five deviations by chance.
func requireLaw(t *testing.T, cfg Config, weight func(key int) float64) {
	t.Helper()
	const draws = 400_000
	got, norm := make([]float64, cfg.Keys), 0.0
	for _, k := range draw(cfg, 0, draws) {
		got[k]++
	}
	for k := range got {
		norm += weight(k)
	}
	var square, free float64
	for k, n := range got {
		want := weight(k) / norm * draws
		if want < 5 { // too rare for the approximation
			continue
		}
		square += (n - want) * (n - want) / want
		free++
	}
	require.InDelta(t, free-1, square, 5*math.Sqrt(2*(free-1)), "chi-square")
}

func TestZipfFollowsItsLawForAnyExponent(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	for _, s := range []float64{0.3, 0.5, 0.99, 1, 1.0000001, 1.5, 3} {
		for _, keys := range []int{2, 50, 1000} {
			t.Run(fmt.Sprintf("s=%v/keys=%d", s, keys), func(t *testing.T) {
				cfg := Config{Keys: keys, Dist: Zipf(s), Seed: 42}
				requireLaw(t, cfg, func(k int) float64 { return math.Pow(float64(k+1), -s) })
			})
		}
	}
}

func TestHotspotGivesItsShareOfTheKeysItsShareOfTheOperations(t *testing.T) {
	for _, c := range []struct {
		names, operations float64
		keys, hot         int
	}{{0.1, 0.9, 100, 10}, {0.01, 0.5, 1000, 10}, {0.001, 0.8, 50, 1}, {1e-9, 0.8, 50, 1}, {0.34, 0.2, 3, 2}, {0.07, 0.9, 100, 7}, {0.28, 0.9, 50, 14}} {
		cfg := Config{Keys: c.keys, Dist: Hotspot(c.names, c.operations), Seed: 42}
		t.Run(cfg.Dist.String(), func(t *testing.T) {
			requireLaw(t, cfg, func(k int) float64 {
				if k < c.hot {
					return c.operations / float64(c.hot)
				}
				return (1 - c.operations) / float64(c.keys-c.hot)
			})
		})
	}
}

func TestUniformUsesEveryKeyAlikeAndSoDoesAHotspotOfAll(t *testing.T) {
	for _, cfg := range []Config{{Keys: 10, Dist: Uniform(), Seed: 1}, {Keys: 2, Dist: Hotspot(0.9, 0.9), Seed: 42}} {
		requireLaw(t, cfg, func(int) float64 { return 1 })
	}
}

func TestOneZipfKeyIsAlwaysThatKey(t *testing.T) {
	for _, k := range draw(Config{Keys: 1, Dist: Zipf(0.99)}, 0, 1000) {
		require.Zero(t, k)
	}
}

func TestOwnKeyIsTheWorkersOwn(t *testing.T) {
	require.Equal(t, []int{7, 7, 7}, draw(Config{Keys: 100}, 3, 3))
}

func TestSameSeedSameKeysOtherSeedOrWorkerOthers(t *testing.T) {
	for _, d := range []Dist{Uniform(), Zipf(0.99), Hotspot(0.1, 0.9)} {
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
