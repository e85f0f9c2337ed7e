package live

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

// news returns the progress of a run with a warm-up.
func news() (all []bench.Progress) {
	add := func(p bench.Progress) {
		p.Impl, p.Round = "muxlock", 2
		all = append(all, p)
	}
	phase := func(warmup bool, seconds int) {
		total := time.Duration(seconds) * time.Second
		add(bench.Progress{Warmup: warmup, Total: total})
		for s := 1; s < seconds; s++ {
			add(bench.Progress{Warmup: warmup, Total: total, Elapsed: time.Duration(s) * time.Second,
				Point: bench.Point{TS: float64(s) * 1.25, Cycles: 5000, P99Ns: 3_000_000, Errors: int64(s - 1)}})
		}
	}
	phase(true, 2)
	phase(false, 4)
	add(bench.Progress{Elapsed: 4 * time.Second, Total: 4 * time.Second, Result: &bench.Result{
		ThroughputPerS: 4000, Latency: bench.Latencies{bench.CycleTime: &bench.Summary{Count: 1000, P: map[string]int64{"50": 1e6, "99": 2e6}}},
	}})
	return all
}

func TestAwayFromATerminalALineIsWrittenNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := NewLine(&b, 2)
		for _, now := range news() {
			l.Show(now)
			time.Sleep((pause - pause/8) / 2)
		}
		l.End()
		require.Equal(t, `round 2/2  muxlock  warm-up 1s/2s  4,000 cycles/s  p99 3.00ms
round 2/2  muxlock  1s/4s  4,000 cycles/s  p99 3.00ms
round 2/2  muxlock  3s/4s  4,000 cycles/s  p99 3.00ms  2 errors  0 timeouts
round 2/2  muxlock  4,000 cycles/s  p50 1.00ms  p99 2.00ms  not valid
`, b.String())
	})
}

func TestOnATerminalALineIsRewrittenAndLeavesNothing(t *testing.T) {
	for _, columns := range []int{1, 2, 20, 80} {
		var b bytes.Buffer
		l := NewLine(&b, 1)
		l.size = func() (int, int, error) { return columns, 24, nil }
		screen, seen, longest := strings.Repeat(" ", columns), "", 0
		for _, now := range append(news(), bench.Progress{}) {
			b.Reset()
			if now.Impl != "" {
				l.Show(now)
			} else {
				l.End()
			}
			require.NotContains(t, b.String(), "\n")
			for part := range strings.SplitSeq(b.String(), "\r") {
				longest = max(longest, len(part))
				screen = part + screen[len(part):]
			}
			seen += screen + "\n"
		}
		require.Empty(t, strings.TrimSpace(screen))
		require.Equal(t, min(columns-1, 60), min(longest, 60), "the last column stays free")
		require.Equal(t, columns == 80, strings.Contains(seen, "muxlock  2s/4s  4,000 cycles/s  p99 3.00ms  1 errors"), seen)
	}
}

func TestProgressNamesNoFigureThatIsNone(t *testing.T) {
	second := func(cycles int64) bench.Progress {
		return bench.Progress{Impl: "raw", Elapsed: time.Second, Total: 2 * time.Second, Point: bench.Point{TS: 1, Cycles: cycles}}
	}
	for want, now := range map[string]bench.Progress{
		"raw  1s/2s  1 cycles/s":          second(1),
		"raw  1s/2s":                      second(0), // its locks are held
		"raw  9 of 10 locks held  lost 1": {Impl: "raw", Result: &bench.Result{Holding: &bench.Holding{Wanted: 10, Held: 9, Lost: 1}, Valid: bench.Valid{OK: true}}},
		"raw  5 cycles/s  p50 ~1.00ms  p99 ~3.00ms": {Impl: "raw", Result: &bench.Result{ThroughputPerS: 5, Valid: bench.Valid{OK: true},
			Latency: bench.Latencies{bench.CycleTime: {Count: 1, P: map[string]int64{"50": 1e6, "99": 3e6}}}}},
		"raw  0 cycles/s  not valid":         {Impl: "raw", Result: &bench.Result{Latency: bench.Latencies{bench.CycleTime: {}}}},
		"raw  1s/2s  7 cycles/s  p99 1.00ns": {Impl: "raw", Elapsed: time.Second, Total: 2 * time.Second, Point: bench.Point{TS: 1, Cycles: 7, P99Ns: 1}},
		"raw  1s/2s  1 errors  2 timeouts":   {Impl: "raw", Elapsed: time.Second, Total: 2 * time.Second, Point: bench.Point{TS: 1, Errors: 1, Timeouts: 2}},
		"raw  warm-up 1s/2s  7 cycles/s":     {Impl: "raw", Warmup: true, Elapsed: time.Second, Total: 2 * time.Second, Point: bench.Point{TS: 1, Cycles: 7}},
	} {
		require.Equal(t, want, NewLine(nil, 1).text(now))
	}
	l := NewLine(nil, 1)
	l.text(second(7))
	require.Equal(t, "raw  1s/2s", l.text(second(7)), "no time has passed")
	outage := second(0)
	outage.Point.TS = 2
	require.Equal(t, "raw  1s/2s  0 cycles/s", l.text(outage), "there were cycles")
}

func TestATerminalOfUnknownWidthTakesAllOfTheLine(t *testing.T) {
	var b bytes.Buffer
	l := NewLine(&b, 1)
	l.size = func() (int, int, error) { return 0, 0, errors.New("unknown") }
	l.Show(news()[0])
	require.Equal(t, "\r\rmuxlock  warm-up 0s/2s", b.String())
}

func TestATerminalIsKnown(t *testing.T) {
	for name, is := range map[string]bool{os.DevNull: false, "/dev/ptmx": true} {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		require.NoError(t, err)
		require.Equal(t, is, NewLine(f, 1).size != nil, name)
		require.NoError(t, f.Close())
	}
}
