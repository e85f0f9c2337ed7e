package raw

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func TestASeriesHasNoPointWithoutLength(t *testing.T) {
	for total, points := range map[time.Duration]int{3 * time.Second: 3, 3050 * time.Millisecond: 3, 3200 * time.Millisecond: 4, 50 * time.Millisecond: 1} {
		for range 20 {
			synctest.Test(t, func(t *testing.T) {
				workers := make([]*worker, ConnsPerMaster)
				for i := range workers {
					workers[i] = &worker{}
				}
				series := new(Load).watch(t.Context(), bench.Config{}, total, workers, false)
				require.Len(t, series, points)
				require.Equal(t, total.Seconds(), series[points-1].TS)
			})
		}
	}
}
