package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestElapsedIsTheClockThatWentFurther(t *testing.T) {
	start := Instant{time.Unix(100, 0), 1000}
	suspended := Instant{time.Unix(101, 0), 1000 + int64(time.Hour)}
	require.Equal(t, time.Hour, suspended.Sub(start))
	bubble := Instant{time.Unix(100+60, 0), 1000 + 5}
	require.Equal(t, time.Minute, bubble.Sub(start))
}

func TestDeadlineIsReachedByEitherClock(t *testing.T) {
	deadline := Instant{time.Unix(100, 0), 1000}.Add(time.Minute)
	require.False(t, deadline.Reached(Instant{time.Unix(159, 0), 1000}))
	require.True(t, deadline.Reached(Instant{time.Unix(160, 0), 1000}))
	require.True(t, deadline.Reached(Instant{time.Unix(101, 0), 1001 + int64(time.Minute)}), "asleep in between")
}

func TestNowMovesForward(t *testing.T) {
	a := Now()
	b := Now()
	require.GreaterOrEqual(t, b.Sub(a), time.Duration(0))
	require.True(t, a.Reached(b))
}

func BenchmarkNow(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Now()
	}
}
