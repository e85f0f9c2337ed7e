package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
)

func values(p result.SweepParam) (texts []string, numbers []float64) {
	for _, v := range p.Values {
		texts = append(texts, v.Text)
		if v.Number != nil {
			numbers = append(numbers, *v.Number)
		}
	}
	return texts, numbers
}

func TestParamTakesListsAndRanges(t *testing.T) {
	for _, c := range []struct {
		param   string
		texts   string
		numbers []float64
	}{
		{"workers=1,8,64", "1 8 64", []float64{1, 8, 64}},
		{"workers=1..512x8", "1 8 64 512", []float64{1, 8, 64, 512}},
		{"workers=1..10x1.5,100", "1 2 3 5 8 100", []float64{1, 2, 3, 5, 8, 100}},
		{"workers=4..4x2,3..100x10", "4 3 30", []float64{4, 3, 30}},
		{"rate=500,2k,1M", "500 2k 1M", []float64{500, 2000, 1e6}},
		{"rate=1k..4kx2", "1000 2000 4000", []float64{1000, 2000, 4000}},
		{"rate=1..2x1.41421356237309", "1 1.41421356237 2", []float64{1, 1.41421356237, 2}},
		{"rate=inf,-inf,nan", "inf -inf nan", nil}, // the flag refuses them
		{"rate=0.1..0.3x1.5,1M..4Mx2", "0.1 0.15 0.225 1000000 2000000 4000000", []float64{0.1, 0.15, 0.225, 1e6, 2e6, 4e6}},
		{"ttl=1ms..1sx10", "1ms 10ms 100ms 1s", []float64{1e6, 1e7, 1e8, 1e9}},
		{"hold=0,1ms,exp:1ms", "0 1ms exp:1ms", []float64{0, 1e6}},
		{"dist=own,zipf:0.9", "own zipf:0.9", nil},
		{"dist=own,hotspot:0.1,0.9,zipf:0.9", "own hotspot:0.1,0.9 zipf:0.9", nil},
		{"hold=lognormal:1ms,0.5,lognormal(2ms,1),3ms", "lognormal:1ms,0.5 lognormal(2ms,1) 3ms", []float64{3e6}},
		{"hold=lognormal:1ms", "lognormal:1ms", nil}, // the flag refuses it
	} {
		p, err := ParseParam(c.param)
		require.NoError(t, err, c.param)
		texts, numbers := values(p)
		require.Equal(t, strings.Fields(c.texts), texts, c.param)
		require.Equal(t, c.numbers, numbers, c.param)
	}
}

func TestAllSettingsHaveOneSeed(t *testing.T) {
	p, err := ParseParam("workers=1,2,3")
	require.NoError(t, err)
	swept, err := declared(t, "noop").Sweep("sweep", p)
	require.NoError(t, err)
	require.Len(t, swept.Each, 3)
	for i, p := range swept.All() {
		require.Equal(t, i+1, p.Workers)
		require.Equal(t, swept.Seed, p.Seed)
		require.NotZero(t, p.Seed)
	}
}
