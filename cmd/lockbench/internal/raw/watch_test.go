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
				var l Load
				for range ConnsPerMaster {
					l.workers = append(l.workers, &worker{})
				}
				series := l.watch(t.Context(), bench.Config{}, total, false)
				require.Len(t, series, points)
				require.Equal(t, total.Seconds(), series[points-1].TS)
			})
		}
	}
}
