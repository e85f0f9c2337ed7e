package bench

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheLagCountsFromOneMillisecond(t *testing.T) {
	for _, c := range []struct {
		lag, response int64
		want          float64
	}{{ms, ms, 0}, {ms / 2, ms, 0}, {2 * ms, 8 * ms, 0.25}, {9 * ms, 9 * ms, 1}} {
		r := &Result{Latency: Latencies{
			LagTime: &Summary{P: map[string]int64{"99": c.lag}}, ResponseTime: &Summary{P: map[string]int64{"99": c.response}},
		}}
		require.Equal(t, c.want, r.LagShare())
	}
	require.Zero(t, (&Result{}).LagShare(), "a closed loop")
}

func TestARunThatLooksForOverlapsNeedsNoExactFiguresButHolds(t *testing.T) {
	l := slow{acquire: takes(time.Millisecond)}
	for duration, want := range map[time.Duration]string{
		110 * time.Millisecond: `^\[\]$`,
		51 * time.Millisecond:  `^\[too few operations: 5[0-3] are no base for an audit\]$`,
	} {
		cfg := Config{Workers: 1, Duration: duration, TTL: time.Second, History: 10}
		r := measure(t, l, cfg)
		require.Regexp(t, want, fmt.Sprint(r.Valid.Reasons))
	}
}

func TestATimeInWhichNothingIsAcquiredIsNotValid(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates many workers")
	}
	none := errors.New("masters do not vote yet")
	begin := func(l *slow, outage time.Duration) func(time.Time) {
		return func(at time.Time) {
			l.acquire = func(ctx context.Context) error {
				if time.Since(at) < outage {
					time.Sleep(10 * time.Millisecond)
					return none
				}
				return takes(10 * time.Millisecond)(ctx)
			}
		}
	}
	for _, c := range []struct {
		name    string
		outage  time.Duration
		outages bool
		want    string
	}{
		{"none", 0, false, ""},
		{"one second, as the garbage collector of a busy machine may take", time.Second, false, ""},
		{"eight", 8 * time.Second, false, string(ReasonOutage) + ": from 0 s to 8 s"},
		{"on purpose", 8 * time.Second, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l slow
			cfg := Config{Workers: 2, Hold: Span{}, Duration: 20 * time.Second, TTL: time.Second, Outages: c.outages, Begin: begin(&l, c.outage)}
			r := measure(t, &l, cfg)
			require.Equal(t, c.want == "", r.Valid.OK, r.Valid.Reasons)
			if c.want != "" {
				require.Contains(t, r.Valid.Reasons[0].String(), c.want)
			}
		})
	}
}

func TestWhoHoldsOrPausesForLongMakesNoOutage(t *testing.T) {
	series := func(acquired ...int64) (all []Point) {
		for i, n := range acquired {
			all = append(all, Point{TS: float64(i + 1), Acquired: n})
		}
		return all
	}
	for _, c := range []struct {
		name     string
		series   []Point
		hold     time.Duration // longest
		think    Span
		op       Op
		stall    Peak    // of a process
		since    float64 // when the first process that reports took part
		from, to float64
	}{
		{name: "in the middle", series: series(90, 0, 0, 0, 90, 0, 0, 90), from: 1, to: 4},
		{name: "a killed process is not counted", series: series(0, 0, 0, 90, 90, 90), since: 3.2},
		{name: "after a process was killed", series: series(0, 0, 90, 90, 0, 0, 0), since: 2.1, from: 4, to: 7},
		{name: "shorter than what a killed process left", series: series(0, 0, 0, 0, 0, 90, 0, 0, 0, 90), since: 5.1, from: 6, to: 9},
		{name: "at the end", series: series(90, 90, 0, 0), from: 2, to: 4},
		{name: "too little is missing", series: series(3, 0, 0, 3, 3, 3)},
		{name: "all hold at once", series: series(90, 0, 0, 0, 90), hold: 3 * time.Second},
		{name: "all pause at once", series: series(90, 0, 0, 0, 90), think: Fixed(time.Second)},
		{name: "never: there is another reason for that", series: series(0, 0, 0, 0)},
		{name: "acquired once, and held", series: series(90, 0, 0, 0), op: Hold},
		{name: "all were stopped", series: series(90, 0, 0, 0, 90), stall: Peak{AtNs: 1100 * ms, Ns: 3800 * ms}},
		{name: "all were stopped later", series: series(90, 0, 0, 0, 90), stall: Peak{AtNs: 4100 * ms, Ns: 3800 * ms}, from: 1, to: 4},
		{name: "an outage after a stop", series: series(90, 0, 0, 0, 0, 90), stall: Peak{AtNs: 1100 * ms, Ns: 1800 * ms}, from: 3, to: 5},
		{name: "a stop in an outage", series: series(90, 0, 0, 0, 0, 90), stall: Peak{AtNs: 1900 * ms, Ns: 500 * ms}, from: 1, to: 5},
	} {
		r := &Result{Series: c.series, Latency: Latencies{HoldTime: &Summary{Max: int64(c.hold)}}, Client: Client{Stall: &Summary{Peaks: &Peaks{All: []Peak{c.stall}}}}}
		from, to, found := r.outage(Config{Think: c.think, Op: c.op}, c.since)
		require.Equal(t, c.to > 0, found, c.name)
		require.Equal(t, [2]float64{c.from, c.to}, [2]float64{from, to}, c.name)
	}
}
