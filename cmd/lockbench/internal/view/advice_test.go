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
  TTL               7s  largest of 1, 1.5, 2, 3, 5, 7, 10... within --rto 10s
  MaxTTL           30s  as in use; a restarted master has no vote for 31.31s
  MasterTimeout   50ms  the lower limit: the farthest master's median is 250µs
  Drift           0.01  the engine's default; the clocks are within 17 ppm
A crashed holder blocks others for up to 7.16s (Lead: no leader for so long).
The TTL must be at least 260ms (rounded up), if the longest come together:
  acquire   50ms  MasterTimeout: a longer one fails
  hold     200ms  the longest of 2,000
  pause      3ms  the most that pauses of the process added to so long a hold
  clocks   4.6ms  Drift x 260ms, and 2ms
The TTL is 26 times what it must be at least.
Replayed with this TTL, the measurement loses none of 10,000 locks.
Worse may come than was seen. With 95% confidence, from 15s of watching:
  at most 0.18% of the locks that are not renewed are lost.
  These are upper bounds, no estimates: watch for longer to lower them.
No TTL outlasts every pause: have the resource check a fencing token.

engine.Config{Masters: masters,
	TTL: 7 * time.Second, MaxTTL: 30 * time.Second,
	MasterTimeout: 50 * time.Millisecond}
To try it (exit code 3: it loses more than 1% of the locks):
  lockbench run --masters 10.10.10.10:6379,10.10.10.11:6379,10.10.10.12:6379
`, advised(t, near(), "", "10s", 0))
}

func TestAnAdviceOfRenewedLocksSaysWhatARenewalMustOutlast(t *testing.T) {
	text := advised(t, renewed(), "", "10s", 0)
	require.Contains(t, text, `  MaxTTL           60s  as in use; a restarted master has no vote for 61.61s
  MasterTimeout   50ms  the lower limit: 90% of quorums answer within 1ms
  Drift           0.01  the engine's default; no clock was compared
`)
	require.Contains(t, text, `
Some calls ask for a ttl of up to 60s: crashed, they block for that long.
The TTL of renewed locks must be at least 120ms.
  A renewal is sent when half of the TTL is left, or earlier. If it fails, the
  next is sent 1/24 later. The other 11/24 must outlast the longest of these,
  plus 1ms for the answer of a quorum:
  pause      3ms  the longest; pauses less than MasterTimeout apart are one
  outage       -  not watched: lockbench advise --masters watches masters
  answer    50ms  a renewal that nobody answers takes MasterTimeout
The TTL is 58 times what it must be at least.
Replayed with this TTL, the measurement loses none of 10,000 locks.
Worse may come than was seen. With 95% confidence, from 15s of watching:
  a pause that costs renewed locks comes less than once in 5s.
  These are upper bounds, no estimates: watch for longer to lower them.
`)
}

func TestAnAdviceThatMissesSaysThatFirstAndWhatToChange(t *testing.T) {
	m := near()
	m.Pauses[0].Took = 5 * time.Second
	text := advised(t, m, "1h", "3s", 0)
	require.True(t, strings.HasPrefix(text, `Measured: muxlock on 3 masters, for 15s.
TOO SHORT: --rto 3s allows a TTL of 2.882s at most, and 11s is needed.
Allow --rto 12s or more, or change what pauses the holder.
  TTL               2s  largest of 1, 1.5, 2, 3, 5, 7, 10... within --rto 3s
`), text)
	require.Contains(t, text, "Replayed with this TTL, the measurement loses 10,000 of 10,000 locks.\nNo TTL outlasts")
	for _, not := range []string{"engine.Config", "lockbench run", "times what", "bound"} {
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
		{m: near(), rto: "5m", want: "30s  largest of 1, 1.5, 2, 3, 5, 7, 10... up to MaxTTL"},
		{m: near(), hold: "12s", want: "15s  what is needed (see below), rounded up"},
		{m: near(), hold: "exp:20ms", want: "hold     180ms  the longest of 10,000 drawn from exp:20ms\n", not: "seen to be"},
		{m: near(), pause: 800 * ms, want: "pause    800ms  given (--pause); none so long was seen\n", not: "assumed"},
		{m: near(), rto: "10s", pause: ms, want: "pause      3ms  the most that pauses of the process added to so long a hold", not: "given"},
		{m: change(near(), func(m *sizing.Measured) { m.Pauses = nil }), want: "pause        -  none was seen\n"},
		{m: change(near(), func(m *sizing.Measured) {
			m.Holds = sizing.Count([]time.Duration{ms}, []int64{1990}, 10)
		}), want: "the longest of 1,990; 10 more were not released\n"},
		{m: change(near(), func(m *sizing.Measured) {
			m.Renewed = sizing.Count([]time.Duration{time.Hour}, []int64{500}, 0)
			pauses(m)
		}),
			want: "The TTL of renewed locks must be at least 11s.\n  Without renewals it must be 5.4s: holds of up to 200ms, and pauses.\n", not: "KeepAlive"},
		{m: near(), hold: "1h", want: "Renew the locks (KeepAlive, Do, Lead).\nThe TTL of renewed locks must be at least 110ms.\n  Without renewals it must be 3700s: holds of up to 3600s, and pauses.\n"},
		{m: near(), hold: "1h", want: "outage       -  no time without a quorum was seen\n", not: "not watched"},
		{m: near(), hold: "1h", want: "  a pause or outage that costs renewed locks comes less than once in 5s."},
		{m: change(near(), outage), hold: "1h", want: "outage    6.6s  the longest without a quorum, until a renewal can win again\n"},
		{m: change(near(), outage), hold: "1h", rto: "3s", want: "or change what keeps the masters away.\n"},
		{m: change(near(), pauses), hold: "20ms", rto: "2s", want: "or change what pauses the holder.\n"},
		{m: near(), hold: "20ms", rto: "500ms", pause: time.Second, want: "or change --pause.\n"},
		{m: far(), hold: "20ms", rto: "1s", want: "or change the way to the masters.\n", not: "engine.Config"},
		{m: far(), rto: "1h", want: "acquire     4s  twice MasterTimeout: a longer one fails\n"},
		{m: far(), rto: "1h", want: "MasterTimeout     2s  about double: the farthest master's median is 910ms\n"},
		{m: far(), rto: "6s", want: "MasterTimeout     1s  capped by the TTL: the farthest master's median is 910ms\n"},
		{m: far(), rto: "1h", want: "\nmaster a:1 did not answer some probes\n"},
		{m: far(), rto: "1h", want: "engine.Config{Masters: masters, Fencing: true,\n"},
		{m: change(near(), func(m *sizing.Measured) { m.Shared = true }), want: "acquire   70ms  MasterTimeout, and hand-overs: a longer one fails\n"},
		{m: change(near(), func(m *sizing.Measured) { m.Pauses[0].Took, m.Fencing = 40*time.Second, true }), hold: "1h", rto: "5m",
			want: "MaxTTL          100s  raised; a restarted master has no vote for 102.01s\n"},
		{m: change(near(), func(m *sizing.Measured) { m.Pauses[0].Took, m.Fencing = 40*time.Second, true }), hold: "1h", rto: "5m",
			want: "MaxTTL is 30s now. First set 100s in every process that uses these masters.\nThen set the masters up again: muxlock masters init --max-ttl 100s\n--recover --above FENCE, the largest fence so far; and restart all clients.\n"},
	} {
		text := advised(t, c.m, c.hold, c.rto, c.pause)
		require.Contains(t, text, c.want)
		if c.not != "" {
			require.NotContains(t, text, c.not)
		}
	}
}
