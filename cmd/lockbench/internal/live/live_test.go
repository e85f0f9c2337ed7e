package live

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/hinshun/vt10x"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

// news is a run of ten seconds as bench reports it, on nine masters of which one is
// slow and one is down.
func news() (all []bench.Progress) {
	const total = 10 * time.Second
	all = append(all, bench.Progress{Impl: "redsync-rueidis", Round: 2, Warmup: true, Total: time.Second}, bench.Progress{Impl: "redsync-rueidis", Round: 2, Total: total})
	for i := 1; i < 10; i++ {
		all = append(all, bench.Progress{
			Impl: "redsync-rueidis", Round: 2, Elapsed: time.Duration(i) * time.Second, Total: total,
			Point: bench.Point{
				TS: float64(i), Cycles: int64(1e6 * i), P50Ns: 4_510_000, P99Ns: int64(i) * 7_920_000, Errors: 1, Timeouts: 2, Refused: 123_456, Dropped: 3,
				MasterNs: []int64{210_000, 210_000, 5_100_000, 210_000, -1, 210_000, 210_000, 210_000, 210_000},
			},
		})
	}
	return append(all, bench.Progress{Impl: "redsync-rueidis", Round: 2, Elapsed: total, Total: total, Result: &bench.Result{
		ThroughputPerS: 14_203, Latency: bench.Latencies{Cycle: &bench.Summary{Count: 1000, P: map[string]int64{"50": 1e6, "99": 2e6}}},
	}})
}

var everything = ProgressOptions{Rounds: 5, Runs: 20, Faults: func(time.Duration) []string { return []string{"delay:3:5ms", "stop:5"} }}

func TestNoLineOfTheViewIsWiderThanTheTerminal(t *testing.T) {
	at := time.Unix(0, 0)
	for width := 1; width <= 200; width++ {
		s := state{options: everything}
		for i, n := range news() {
			s.see(n, at)
			for _, l := range s.lines(width, at.Add(100*time.Hour)) {
				require.LessOrEqual(t, utf8.RuneCountInString(l), width, "%d: %v", i, l)
			}
		}
	}
}

// screen is an emulated terminal with a shell's prompt on it.
func screen(width int) (term vt10x.Terminal, view *live, clock func(time.Duration)) {
	term = vt10x.New(vt10x.WithSize(width, 24))
	fmt.Fprint(term, "$ lockbench run\r\n")
	return term, newLive(term, func() (int, int, error) {
			term.Lock()
			defer term.Unlock()
			w, h := term.Size()
			return w, h, nil
		}, everything), func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
}

// visible is the rows of the screen that hold something.
func visible(term vt10x.Terminal) []string {
	rows := strings.Split(strings.TrimRight(term.String(), " \n"), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows
}

func TestTheViewRedrawsInPlaceAndLeavesNothing(t *testing.T) {
	for _, width := range []int{40, 80, 120} {
		synctest.Test(t, func(t *testing.T) {
			term, view, pass := screen(width)
			defer view.close()
			for _, n := range news() {
				view.show(n)
				pass(time.Second)
				rows := visible(term)
				require.Equal(t, "$ lockbench run", rows[0])
				require.Regexp(t, `^redsync-rueidis  `, rows[1])
				require.LessOrEqual(t, len(rows), 7, "%s", strings.Join(rows, "\n"))
				require.True(t, term.CursorVisible())
			}
			t.Logf("%d columns\n%s", width, strings.Join(visible(term), "\n"))
			require.Len(t, visible(term), 7)
			view.close()
			view.close()
			synctest.Wait()
			require.Equal(t, []string{"$ lockbench run"}, visible(term))
			require.Equal(t, [2]int{0, 1}, [2]int{term.Cursor().X, term.Cursor().Y})
		})
	}
}

func TestTheViewShowsTheRunNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term, view, pass := screen(120)
		defer view.close()
		all := news()
		for _, n := range all[:5] {
			view.show(n)
			pass(time.Second)
		}
		text := strings.Join(visible(term), "\n")
		for _, want := range []string{
			"measuring  4s/10s  round 2/5  run 1/20", // a second after the third
			"rate 3,000,000/s  p50 4.51ms  p99 23.8ms",
			"errors 3  timeouts 6  dropped 9  refused 370,368",
			"1 210us", "3 5.10ms slow", "5 down", "delay:3:5ms  stop:5",
		} {
			require.Contains(t, text, want)
		}
		require.NotContains(t, text, "before:")
		view.show(all[len(all)-1])
		view.show(all[1])
		pass(time.Second)
		text = strings.Join(visible(term), "\n")
		require.Contains(t, text, "run 2/20")
		require.Contains(t, text, "before: redsync-rueidis  14,203 cycles/s")
		require.Contains(t, text, "errors 0", "of the new run")
	})
}

func TestFaultsAreThoseOfTheMeasuredTimeNow(t *testing.T) {
	var asked []time.Duration
	at := time.Unix(0, 0)
	s := state{options: ProgressOptions{Faults: func(at time.Duration) []string {
		asked = append(asked, at)
		return nil
	}}}
	for _, n := range news()[:3] { // warm-up of 1s, measured from 0s, at 1s
		s.see(n, at)
		s.lines(80, at.Add(300*time.Millisecond))
	}
	require.Equal(t, []time.Duration{-700 * time.Millisecond, 300 * time.Millisecond, 1300 * time.Millisecond}, asked)
}

func TestTheViewFollowsTheSizeOfTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term, view, pass := screen(40)
		defer view.close()
		for _, n := range news()[:5] {
			view.show(n)
		}
		pass(time.Second)
		for _, size := range [][2]int{{120, 24}, {120, 4}} {
			term.Resize(size[0], size[1])
			pass(time.Second)
			rows := visible(term)
			require.LessOrEqual(t, len(rows), size[1])
			require.Contains(t, rows[len(rows)-1], map[int]string{24: "delay:3:5ms", 4: "errors"}[size[1]], rows)
		}
	})
	require.Equal(t, 5, rows([]int{80, 80, 10}, 40), "broken by a terminal that became narrower")
	require.Equal(t, 2, rows([]int{0, 80}, 80))
}

// stuck is a terminal that takes nothing until it is let go on.
type stuck chan struct{}

func (s stuck) Write(b []byte) (int, error) { <-s; return len(b), nil }

func TestATerminalThatTakesNothingHoldsUpNeitherTheLoadNorItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := stuck(make(chan struct{}))
		view := newLive(term, func() (int, int, error) { return 80, 24, io.ErrUnexpectedEOF }, ProgressOptions{})
		begin := time.Now()
		for range 5000 {
			view.show(bench.Progress{Impl: "muxlock", Total: 5 * time.Second, Elapsed: time.Since(begin)})
			time.Sleep(time.Millisecond)
		}
		require.Equal(t, 5*time.Second, time.Since(begin))
		view.close()
		require.Equal(t, 5*time.Second+closeLimit, time.Since(begin))
		close(term)
	})
}

func TestOnlyATerminalThatCanMoveItsCursorIsDrawnOn(t *testing.T) {
	require.True(t, redraws("xterm"))
	require.False(t, redraws("dumb"))
	require.False(t, redraws(""))
}

func TestManyMastersGetALetterEach(t *testing.T) {
	ns := make([]int64, 60)
	for i := range ns {
		ns[i] = 1000
	}
	ns[3], ns[4] = 3001, -1
	require.Equal(t, "masters ...sD...........................", strip(40, ns))
	require.Equal(t, "masters  1 1.00us  2 down", strip(80, []int64{1000, -1}))
}

func TestProgressIsPlainAndSeldomAwayFromATerminal(t *testing.T) {
	var b bytes.Buffer
	show, end := NewProgress(&b, ProgressOptions{Rounds: 1})
	for range 3 {
		show(bench.Progress{Impl: "muxlock", Elapsed: time.Second, Total: 5 * time.Second, Point: bench.Point{Cycles: 1234}})
	}
	end()
	require.Equal(t, "muxlock  1s/5s  1,234 cycles  p99 0ns\n", b.String())
}
