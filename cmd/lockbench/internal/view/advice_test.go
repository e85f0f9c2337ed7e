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

// far is one of masters far away, with pauses and bad clocks.
func far() sizing.Measured {
	m := near()
	for i := range m.Rounds {
		m.Rounds[i].Trips = []time.Duration{456 * ms, 456 * ms, 912 * ms}
	}
	m.Pauses, m.Fencing = []sizing.Moment{{At: 1, Took: 1234 * ms}}, true
	m.Clocks = []bench.Clock{{PPM: 140_000, JumpNs: 45e6}}
	m.Notes = []string{"master a:1 did not answer some probes, and was away for 24% of the time"}
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
	require.LessOrEqual(t, len(all), 28, all)
	return strings.Join(all, "\n") + "\n"
}

func TestAnAdviceSaysWhatToSetAndWhy(t *testing.T) {
	require.Equal(t, `muxlock on 3 masters, watched for 15s
  TTL               7s  the largest round number that --rto 10s allows
  MaxTTL           30s  the engine's default; a restarted master waits for 31.4s
  MasterTimeout   50ms  the least; the farthest master takes 250us (p50)
  Drift           0.01  the engine's default; clocks seen are within 17 ppm
A crashed holder blocks others for up to 7.16s.
  With Lead that is the time without a leader.
Needed at least: 260ms, if the longest of all came together:
  acquire   50ms  MasterTimeout: longer ones fail
  hold     200ms  the longest of 2,000
  pause      3ms  the most that pauses took from so long a hold
  clocks   4.6ms  what clocks may differ by meanwhile, and 2ms
The TTL is 26 times what was seen to be needed.
Replayed with this TTL, the measurement loses none of 10,000 locks.
95 % sure: at most 0.18% of the locks that are not renewed are lost.
  That is a bound, no estimate. To know more, watch for longer than 15s.
No TTL outlasts every pause: have the resource check a fencing token.

engine.Config{Masters: masters, Drift: 0.01,
	TTL: 7 * time.Second, MaxTTL: 30 * time.Second,
	MasterTimeout: 50 * time.Millisecond}
  lockbench run --masters 10.10.10.10:6379,10.10.10.11:6379,10.10.10.12:6379
`, advised(t, near(), "", "10s", 0))
}

func TestAnAdviceOfRenewedLocksSaysWhatARenewalMustOutlast(t *testing.T) {
	require.Equal(t, `muxlock on 3 masters, watched for 15s
  TTL               7s  the largest round number that --rto 10s allows
  MaxTTL           60s  as in use; a restarted master waits for 61.7s
  MasterTimeout   50ms  the least; a quorum takes 1ms (p90)
  Drift           0.01  the engine's default; no clock's rate was seen
  RetrySplit       5ms  four round trips to the masters, 1ms
A crashed holder blocks others for up to 7.16s.
  With Lead that is the time without a leader.
The longest ttl in use was 60s: a call that still asks for it blocks for that.
The locks are renewed. Needed at least: 110ms.
  3/8 of the TTL pass until a renewal is sent again. The rest must outlast the
  longest of these, two answers of a quorum, and 3.1ms for clocks:
  pause      3ms  the longest; those closer than MasterTimeout are one
  outage       -  not watched: lockbench advise --masters watches masters
  answer    50ms  MasterTimeout, of a renewal that is not answered
The TTL is 63 times what was seen to be needed.
Replayed with this TTL, the measurement loses none of 10,000 locks.
95 % sure: a pause that costs renewed locks comes at most every 5s.
  That is a bound, no estimate. To know more, watch for longer than 15s.
No TTL outlasts every pause: have the resource check a fencing token.

engine.Config{Masters: masters, Drift: 0.01,
	TTL: 7 * time.Second, MaxTTL: 60 * time.Second,
	MasterTimeout: 50 * time.Millisecond, RetrySplit: 5 * time.Millisecond}
  lockbench run --masters 10.10.10.10:6379,10.10.10.11:6379,10.10.10.12:6379
`, advised(t, renewed(), "", "10s", 0))
}

func TestAnAdviceThatMissesSaysThatFirstAndWhatToChange(t *testing.T) {
	m := near()
	m.Pauses[0].Took = 5 * time.Second
	text := advised(t, m, "1h", "3s", 0)
	require.True(t, strings.HasPrefix(text, `muxlock on 3 masters, watched for 15s
TOO SHORT: --rto 3s allows a TTL of 2.8s at most, and 8.2s is needed.
Change one of them: --rto 8.4s or more, or what pauses the holder.
  TTL               2s  the largest round number that --rto 3s allows
`), text)
	require.Contains(t, text, "Replayed with this TTL, the measurement loses 10,000 of 10,000 locks.\nNo TTL outlasts")
	require.NotContains(t, text, "engine.Config")
	require.NotContains(t, text, "lockbench run")
	require.NotContains(t, text, "times what")
	require.NotContains(t, text, "bound")
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
		{m: near(), want: "10s  the engine's default (--rto: how long a crash may block)"},
		{m: near(), rto: "5m", want: "30s  the largest round number up to the MaxTTL in use"},
		{m: near(), hold: "12s", want: "15s  what is needed, rounded up"},
		{m: near(), hold: "exp:20ms", want: "hold     180ms  the longest of 10,000 drawn from exp:20ms\n", not: "was seen to be needed"},
		{m: near(), hold: "exp:20ms", want: "times what is needed at least."},
		{m: near(), pause: 800 * ms, want: "pause    800ms  given (--pause); none so long was seen\n", not: "assumed"},
		{m: near(), rto: "10s", pause: ms, want: "pause      3ms  the most that pauses took from so long a hold", not: "given"},
		{m: change(near(), func(m *sizing.Measured) {
			m.Holds = sizing.Count([]time.Duration{ms}, []int64{1990}, 10)
		}), want: "the longest of 1,990; 10 more were not released\n"},
		{m: change(near(), func(m *sizing.Measured) {
			m.Renewed = sizing.Count([]time.Duration{time.Hour}, []int64{500}, 0)
			pauses(m)
		}),
			want: "Needed at least: 8.2s, for the 20.0% of the locks that are renewed.\n  The others need 5.4s, for holds of 200ms.\n"},
		{m: near(), hold: "1h", want: "Renew the locks (KeepAlive, Do, Lead). Needed at least: 110ms.\n  Without renewals it would be 3700s, for holds of 3600s.\n"},
		{m: near(), hold: "1h", want: "outage       -  of the masters: none was seen\n", not: "not watched"},
		{m: near(), hold: "1h", want: "a pause or outage that costs renewed locks comes at most every 5s."},
		{m: change(near(), outage), hold: "1h", want: "outage    6.6s  the longest without a quorum, until a renewal can win again\n"},
		{m: change(near(), outage), hold: "1h", rto: "3s", want: "or what keeps the masters away.\n"},
		{m: change(near(), pauses), hold: "20ms", rto: "2s", want: "or what pauses the holder.\n"},
		{m: near(), hold: "20ms", rto: "500ms", pause: time.Second, want: "or a shorter --pause.\n"},
		{m: far(), hold: "20ms", rto: "1s", want: "or nearer masters.\n", not: "engine.Config"},
		{m: far(), rto: "1h", want: "Drift         0.1416  clocks are off by up to 140000 ppm, or jump: mend them\n"},
		{m: far(), rto: "1h", want: "acquire     4s  twice MasterTimeout: longer ones fail\n"},
		{m: far(), rto: "1h", want: "MasterTimeout     2s  about twice what the farthest master takes, 910ms (p50)\n"},
		{m: far(), rto: "1h", want: "RetrySplit        2s  four round trips to the masters, 460ms\n"},
		{m: far(), rto: "1h", want: "\nmaster a:1 did not answer some probes, and was away for 24% of the time\n"},
		{m: far(), rto: "1h", want: "engine.Config{Masters: masters, Fencing: true, Drift: 0.1416"},
		{m: change(near(), func(m *sizing.Measured) { m.Shared = true }), want: "acquire   70ms  MasterTimeout, and hand-overs in the process: longer ones fail\n"},
		{m: renewed(), want: "the engine's default; no clock's rate was seen\n", not: "CAUTION"},
		{m: change(near(), func(m *sizing.Measured) { m.Pauses[0].Took, m.Fencing = 40*time.Second, true }), hold: "1h", rto: "5m",
			want: "MaxTTL           70s  for this TTL; a restarted master waits for 71.8s\n"},
		{m: change(near(), func(m *sizing.Measured) { m.Pauses[0].Took, m.Fencing = 40*time.Second, true }), hold: "1h", rto: "5m",
			want: "MaxTTL is 30s now. First give 70s to every process of these masters.\nThen set the masters up again: muxlock masters init --max-ttl 70s\n--recover --above FENCE, the largest fence so far; and restart all clients.\n"},
	} {
		text := advised(t, c.m, c.hold, c.rto, c.pause)
		require.Contains(t, text, c.want)
		if c.not != "" {
			require.NotContains(t, text, c.not)
		}
	}
}
