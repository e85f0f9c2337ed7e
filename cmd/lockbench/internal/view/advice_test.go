package view

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/testing/golden"
)

const ms = time.Millisecond

// near is a quiet measurement of masters nearby.
func near() sizing.Measured {
	m := sizing.Measured{Masters: 3, Watched: 15 * time.Second, Pauses: []sizing.Moment{{At: 1, Took: 3 * ms}}, Clocks: []bench.Clock{{PPM: 14, PPMError: 3}}}
	for i := range 1500 {
		m.Rounds = append(m.Rounds, sizing.Round{At: time.Duration(i) * 10 * ms, Trips: []time.Duration{123456, 123456 + time.Duration(i%900), 246912}})
	}
	m.Holds = sizing.Count([]time.Duration{ms, 200 * ms}, []int64{1999, 1}, 0)
	return m
}

// far is one of masters far away, with pauses.
func far() sizing.Measured {
	m := near()
	for i := range m.Rounds {
		m.Rounds[i].Trips = []time.Duration{456 * ms, 456 * ms, 912 * ms}
	}
	m.Pauses, m.Fencing = []sizing.Moment{{At: 1, Took: 1234 * ms}}, true
	m.Notes = []string{"master a:1 did not answer some probes"}
	return m
}

// renewed is one of a process that renews its locks.
func renewed() sizing.Measured {
	m := near()
	m.Rounds, m.Clocks, m.Holds, m.Renewed = nil, nil, sizing.Times{}, sizing.Count([]time.Duration{time.Hour}, []int64{90}, 10)
	m.Acquires, m.LongestTTL, m.MaxTTL = sizing.Count([]time.Duration{ms}, []int64{100}, 0), time.Minute, time.Minute
	return m
}

// advised returns an advice as it is printed. Hold and rto may be empty.
func advised(t *testing.T, m sizing.Measured, hold, rto string, pause time.Duration) string {
	var b Blocks
	ask := sizing.Ask{Pause: pause}
	if span, err := bench.ParseSpan(hold); err == nil {
		ask.Hold = &span
	}
	ask.RTO, _ = time.ParseDuration(rto)
	a := &result.Advice{Ask: ask, Sizes: sizing.Size(m, ask), Try: "lockbench run --masters 10.10.10.10:6379,10.10.10.11:6379,10.10.10.12:6379"}
	require.Empty(t, a.Lacks)
	b.advice(a)
	var all []string
	for _, block := range b {
		for line := range strings.SplitSeq(block.Line, "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "        ")), 80, line)
			all = append(all, line)
		}
	}
	require.LessOrEqual(t, len(all), 30, all)
	return strings.Join(all, "\n") + "\n"
}

// testdata/advice.txt has what is printed. Each of these sentences was once seen where it was not true.
func TestSentencesOfAnAdviceAreTrueOfItsMeasurement(t *testing.T) {
	change := func(m sizing.Measured, by func(*sizing.Measured)) sizing.Measured {
		by(&m)
		return m
	}
	pauses := func(m *sizing.Measured) { m.Pauses[0].Took = 5 * time.Second }
	outage := func(m *sizing.Measured) {
		m.Slow = []sizing.Moment{{At: time.Second, Took: 5 * time.Second}}
	}
	var all strings.Builder
	for _, c := range []struct {
		what      string
		m         sizing.Measured
		hold, rto string
		pause     time.Duration
	}{
		{what: "masters nearby", m: near(), rto: "10s"},
		{what: "no --rto", m: near()},
		{what: "renewed locks of a process", m: renewed(), rto: "10s"},
		{what: "a long RTO", m: near(), rto: "5m"},
		{what: "given times have all their digits", m: change(near(), func(m *sizing.Measured) { m.MaxTTL = 125 * time.Second }), rto: "2m5s"},
		{what: "a hold of more than the default", m: near(), hold: "12s"},
		{what: "drawn holds", m: near(), hold: "exp:20ms"},
		{what: "a pause longer than any", m: near(), pause: 800 * ms},
		{what: "a pause shorter than one", m: near(), rto: "10s", pause: ms},
		{what: "no pause", m: change(near(), func(m *sizing.Measured) { m.Pauses = nil })},
		{what: "holds that were cut", m: change(near(), func(m *sizing.Measured) { m.Holds = sizing.Count([]time.Duration{ms}, []int64{1999}, 1) })},
		{what: "some are renewed", m: change(near(), func(m *sizing.Measured) {
			m.Renewed = sizing.Count([]time.Duration{time.Hour}, []int64{500}, 0)
			pauses(m)
		})},
		{what: "a long hold", m: near(), hold: "1h"},
		{what: "an outage", m: change(near(), outage), hold: "1h"},
		{what: "missed by an outage", m: change(near(), outage), hold: "1h", rto: "3s"},
		{what: "missed by a pause", m: change(near(), pauses), hold: "1h", rto: "3s"},
		{what: "missed by a pause, not renewed", m: change(near(), pauses), hold: "20ms", rto: "2s"},
		{what: "missed by --pause", m: near(), hold: "20ms", rto: "500ms", pause: time.Second},
		{what: "missed by the way", m: far(), hold: "20ms", rto: "1s"},
		{what: "masters far away", m: far(), rto: "1h"},
		{what: "MasterTimeout capped", m: far(), rto: "7s"},
		{what: "shared names", m: change(near(), func(m *sizing.Measured) { m.Shared = true })},
		{what: "MaxTTL must grow", m: change(near(), func(m *sizing.Measured) { m.Pauses[0].Took, m.Fencing = 40*time.Second, true }), hold: "1h", rto: "5m"},
		{what: "MaxTTL must grow, without fencing", m: change(near(), func(m *sizing.Measured) {
			m.Pauses[0].Took, m.Clocks = 40*time.Second, []bench.Clock{{PPM: 0.2, PPMError: 0.3}}
		}), hold: "1h", rto: "5m"},
		{what: "a ttl in use like that advised, all masters alike", m: change(renewed(), func(m *sizing.Measured) {
			m.LongestTTL = 7 * time.Second
			for i := range 1500 {
				m.Rounds = append(m.Rounds, sizing.Round{At: time.Duration(i) * 10 * ms, Trips: []time.Duration{ms, ms, ms}})
			}
		}), rto: "10s"},
	} {
		fmt.Fprintf(&all, "== %s\n%s\n", c.what, advised(t, c.m, c.hold, c.rto, c.pause))
	}
	golden.Equal(t, "advice.txt", all.String())
}

func TestFiguresAreRoundedToTheSafeSide(t *testing.T) {
	require.Equal(t, "10ms 20ms", upTo(10*ms)+" "+upTo(10*ms+1))
	require.Equal(t, "1.1 9.9 10 1,000", times(1.19)+" "+times(9.99)+" "+times(10)+" "+times(1000.9))
}
