package view

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
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

func TestAnAdviceSaysWhatToSetAndWhy(t *testing.T) {
	require.Equal(t, `Measured: muxlock on 3 masters, for 15s.
  TTL               7s  --rto 10s allows 9.813s; the next lower round number
  MaxTTL           30s  the default; a restarted master votes after 31.31s
  MasterTimeout   50ms  the least advised; the farthest master's median is 250µs
  Drift           0.01  the engine's default; the clocks are within 17 ppm
A crashed holder or leader blocks others for up to 7.16s (--rto allows 10s).
The TTL must be at least 260ms, the sum of the longest (rounded up):
  acquire   50ms  it gives up after MasterTimeout
  hold     200ms  the longest of 2,000
  pause      3ms  what measured pauses of the process add to acquire and hold
  clocks   4.6ms  Redlock's allowance for clocks: Drift x 260ms + 2ms
The advised TTL is 26 times that minimum.
Lost with TTL 7s: none of 10,000 locks simulated from the measurement.
Worse may come than was seen. With 95% confidence, 15s of watching prove only:
  at most 0.18% of the locks are lost.
These are bounds, no forecast. A longer measurement gives tighter ones.
No TTL outlasts every pause: let the resource check Lock.Fence (Config.Fencing).

engine.Config{Masters: masters,
	TTL: 7 * time.Second, MaxTTL: 30 * time.Second,
	MasterTimeout: 50 * time.Millisecond}
To try it (exit code 3 if it loses more than 1% of the locks):
  lockbench run --masters 10.10.10.10:6379,10.10.10.11:6379,10.10.10.12:6379
`, advised(t, near(), "", "10s", 0))
}

func TestAnAdviceOfRenewedLocksSaysWhatARenewalMustOutlast(t *testing.T) {
	text := advised(t, renewed(), "", "10s", 0)
	require.Contains(t, text, `  MaxTTL           60s  as measured; a restarted master votes after 61.61s
  MasterTimeout   50ms  the least advised; 90% of quorums answer within 1ms
  Drift           0.01  the engine's default; no clock was compared
`)
	require.Contains(t, text, `
Some calls ask for a ttl of up to 60s: crashed, they block for that long.
Renew the locks (KeepAlive, Do, Lead). Their TTL must be at least 120ms.
  A renewal is sent when half of the TTL is left, or earlier. If it fails, the
  next is sent 1/24 of the TTL later. The last 11/24 must outlast the longest
  of these, plus 1ms for a quorum to answer the next renewal:
  pause      3ms  the longest; pauses less than MasterTimeout apart count as one
  outage       -  not watched, so left out; lockbench advise --masters watches
  answer    50ms  a renewal without an answer gives up after MasterTimeout
The advised TTL is 58 times that minimum.
Lost with TTL 7s: none of 10,000 locks simulated from the measurement.
Worse may come than was seen. With 95% confidence, 15s of watching prove only:
  pauses that cost renewed locks come at most once in 5s.
These are bounds, no forecast. A longer measurement gives tighter ones.
`)
}

func TestAnAdviceSaysATimeThatWasGivenInAllItsDigits(t *testing.T) {
	m := near()
	m.MaxTTL = 125 * time.Second
	text := advised(t, m, "", "2m5s", 0)
	require.Contains(t, text, "--rto 125s allows")
	require.Contains(t, text, "(--rto allows 125s)")
	require.Regexp(t, `MaxTTL +125s +as measured`, text)
}

func TestAnAdviceThatMissesSaysThatFirstAndWhatToChange(t *testing.T) {
	m := near()
	m.Pauses[0].Took = 5 * time.Second
	text := advised(t, m, "1h", "3s", 0)
	require.True(t, strings.HasPrefix(text, `Measured: muxlock on 3 masters, for 15s.
TOO SHORT: --rto 3s allows a TTL of 2.882s at most, and 11s is needed.
Give --rto 12s or more, or change what pauses the holder.
Renew the locks (KeepAlive, Do, Lead). Their TTL must be at least 11s.
`), text)
	require.Contains(t, text, "Lost with TTL 2s: 10,000 of 10,000 locks simulated from the measurement.\nNo TTL outlasts")
	for _, not := range []string{"engine.Config{", "lockbench run", "  TTL ", "blocks others", "that minimum", "bound"} {
		require.NotContains(t, text, not)
	}
}

// Each of these was seen where it was not true.
func TestSentencesOfAnAdviceAreTrueOfItsMeasurement(t *testing.T) {
	change := func(m sizing.Measured, by func(*sizing.Measured)) sizing.Measured {
		by(&m)
		return m
	}
	pauses := func(m *sizing.Measured) { m.Pauses[0].Took = 5 * time.Second }
	outage := func(m *sizing.Measured) {
		m.Slow = []sizing.Moment{{At: time.Second, Took: 5 * time.Second}}
	}
	for _, c := range []struct {
		m         sizing.Measured
		hold, rto string
		pause     time.Duration
		want, not string
	}{
		{m: near(), want: "10s  the engine's default, as no --rto is given"},
		{m: near(), want: "blocks others for up to 10.19s (see --rto).\n"},
		{m: near(), rto: "5m", want: "30s  at most the MaxTTL in use; rounded down"},
		{m: near(), hold: "12s", want: "15s  the least that is needed (see below), rounded up"},
		{m: near(), hold: "exp:20ms", want: "hold     180ms  the longest of 10,000 drawn from exp:20ms\n", not: "seen to be"},
		{m: near(), pause: 800 * ms, want: "pause    800ms  given (--pause); none so long was seen\n", not: "assumed"},
		{m: near(), rto: "10s", pause: ms, want: "pause      3ms  what measured pauses of the process add to acquire and hold", not: "given"},
		{m: change(near(), func(m *sizing.Measured) { m.Pauses = nil }), want: "pause        -  none was seen\n"},
		{m: change(near(), func(m *sizing.Measured) {
			m.Holds = sizing.Count([]time.Duration{ms}, []int64{1990}, 10)
		}), want: "the longest of 1,990; 10 more were not released\n"},
		{m: change(near(), func(m *sizing.Measured) {
			m.Renewed = sizing.Count([]time.Duration{time.Hour}, []int64{500}, 0)
			pauses(m)
		}),
			want: "Some of the measured locks are renewed. Their TTL must be at least 11s.\n  The locks that are not renewed need 5.4s: a hold of 200ms and its pauses.\n", not: "KeepAlive"},
		{m: near(), hold: "1h", want: "Renew the locks (KeepAlive, Do, Lead). Their TTL must be at least 110ms.\n  Without renewals they would need 3700s: a hold of 3600s and its pauses.\n"},
		{m: near(), hold: "1h", want: "outage       -  no time without a quorum was seen\n", not: "not watched"},
		{m: near(), hold: "1h", want: "  pauses or outages that cost renewed locks come at most once in 5s."},
		{m: change(near(), outage), hold: "1h", want: "outage    6.6s  the longest without a quorum, until a renewal can win again\n"},
		{m: change(near(), outage), hold: "1h", rto: "3s", want: "or change what keeps the masters away.\n"},
		{m: change(near(), pauses), hold: "20ms", rto: "2s", want: "or change what pauses the holder.\n"},
		{m: near(), hold: "20ms", rto: "500ms", pause: time.Second, want: "or change --pause.\n"},
		{m: far(), hold: "20ms", rto: "1s", want: "or change the way to the masters.\n", not: "engine.Config"},
		{m: far(), rto: "1h", want: "acquire     4s  it gives up after twice MasterTimeout\n"},
		{m: far(), rto: "1h", want: "MasterTimeout     2s  about double; the farthest master's median is 910ms\n"},
		{m: far(), rto: "7s", want: "MasterTimeout     1s  capped by the TTL; the farthest master's median is 910ms\n"},
		{m: far(), rto: "1h", want: "\nmaster a:1 did not answer some probes\n"},
		{m: far(), rto: "1h", want: "engine.Config{Masters: masters, Fencing: true,\n"},
		{m: change(near(), func(m *sizing.Measured) { m.Shared = true }), want: "acquire   70ms  it gives up after MasterTimeout; plus a hand-over\n"},
		{m: change(near(), func(m *sizing.Measured) { m.Pauses[0].Took, m.Fencing = 40*time.Second, true }), hold: "1h", rto: "5m",
			want: "MaxTTL          100s  raised; a restarted master votes after 102.01s\n"},
		{m: change(near(), func(m *sizing.Measured) { m.Pauses[0].Took, m.Fencing = 40*time.Second, true }), hold: "1h", rto: "5m",
			want: "MaxTTL must grow from 30s to 100s, at the masters M and in every client:\n1. muxlock masters init --masters M --max-ttl 100s --recover --above FENCE\n   FENCE is the largest fence that any resource has stored.\n2. Restart each client with MaxTTL 100s. Until then it gets no locks.\n"},
	} {
		text := advised(t, c.m, c.hold, c.rto, c.pause)
		require.Contains(t, text, c.want)
		if c.not != "" {
			require.NotContains(t, text, c.not)
		}
	}
}
