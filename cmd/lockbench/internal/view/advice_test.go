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

// advices returns one advice of each kind.
func advices() map[string]*result.Advice {
	hold := bench.Exp(20 * time.Millisecond)
	hour := bench.Fixed(time.Hour)
	all := map[string]*result.Advice{}
	rounds := func(trip time.Duration) (all []sizing.Round) {
		for i := range 1500 {
			all = append(all, sizing.Round{At: time.Duration(i) * 10 * time.Millisecond, Trips: []time.Duration{trip, trip + time.Duration(i%900), 2 * trip}})
		}
		return all
	}
	for name, m := range map[string]sizing.Measured{
		"nothing": {Masters: 5},
		"near":    {Masters: 3, Watched: 15 * time.Second, Rounds: rounds(123456), Pauses: []sizing.Moment{{At: 1, Took: 3 * time.Millisecond}}, Clocks: []bench.Clock{{PPM: 14, PPMError: 3}}},
		"far":     {Masters: 3, Watched: 15 * time.Second, Rounds: rounds(456 * time.Millisecond), Pauses: []sizing.Moment{{At: 1, Took: 1234 * time.Millisecond}}, Fencing: true, Warnings: []string{"x"}, Clocks: []bench.Clock{{PPM: 140000, JumpNs: 45e6}}},
	} {
		for kind, ask := range map[string]sizing.Ask{
			"given":   {Eps: 1e-6, RTO: 30 * time.Second, Pause: 500 * time.Millisecond, Hold: &hold},
			"renewed": {Eps: 1e-6, RTO: 15 * time.Second, Pause: 500 * time.Millisecond, Hold: &hour},
			"missed":  {Eps: 1e-6, RTO: 333 * time.Millisecond, Pause: 500 * time.Millisecond, Hold: &hold},
			"assumed": {Eps: 1e-6, RTO: time.Hour, Pause: time.Minute},
		} {
			a := &result.Advice{Ask: ask, Sizes: sizing.Size(m, ask)}
			a.Try = strings.TrimSpace("lockbench run --masters 10.10.10.10:6379,10.10.10.11:6379,10.10.10.12:6379 --workers 512 --rate 500 --ttl 1.2s --max-ttl 29s --master-timeout 50ms --retry-held 52ms --retry-split 1.2ms --hold exp:20ms --slo 'lost_validity_rate<=1.2%' --duration 10s")
			all[name+", "+kind] = a
		}
	}
	interval := &sizing.Interval{From: 1234 * time.Millisecond, To: 5678 * time.Millisecond}
	all["far, given"].Spread = sizing.Spread{TTL: interval, MasterTimeout: interval}
	return all
}

func TestAnAdviceIsOneScreen(t *testing.T) {
	for name, a := range advices() {
		var b Blocks
		b.advice(a)
		lines := 0
		for i, block := range b {
			for line := range strings.Lines(block.Line + "\n") {
				lines++
				if i < len(b)-1 {
					require.LessOrEqual(t, utf8.RuneCountInString(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "        ")), 80, "%s: %s", name, line)
				}
			}
		}
		lines += len(b[len(b)-1].Line) / 70 // it is folded
		require.LessOrEqual(t, lines, 24, "%s: %v", name, b)
		require.True(t, strings.HasPrefix(b[len(b)-1].Line, "  lockbench run "))
	}
}

func TestAnAdviceSaysWhatWasSeenAndWhatIsAssumed(t *testing.T) {
	text := func(name string) string {
		var b Blocks
		b.advice(advices()[name])
		var all []string
		for _, block := range b {
			all = append(all, block.Line)
		}
		return strings.Join(all, "\n")
	}
	require.Contains(t, text("near, given"), "pause 500ms: assumed (--pause); the longest seen in 15s was 3ms")
	require.Contains(t, text("near, given"), "hold 280ms: given, 0.0001% are longer")
	require.Contains(t, text("far, given"), "the longest seen, 1.2s, counted twice; longer: not seen in 15s")
	require.Contains(t, text("near, assumed"), "hold 1s: assumed, longer ones lose their lock; give --hold")
	require.Contains(t, text("near, renewed"), "renewed (KeepAlive, Do)")
	require.Contains(t, text("near, renewed"), "still lost: in longer pauses or outages, at most one in 5s (95 %)")
	require.Contains(t, text("far, given"), "measured again, TTL would be 1.3s to 5.7s", "rounded up, like TTL")
	require.Contains(t, text("near, missed"), "BEYOND --rto")
	require.NotContains(t, text("near, missed"), "what --rto allows")
	require.Contains(t, text("far, given"), "Fencing: true")
	require.True(t, strings.HasSuffix(text("far, given"), "--duration 10s"))
	a := advices()["near, given"]
	a.Try = ""
	var b Blocks
	b.advice(a)
	require.True(t, b[len(b)-1].Code, "no empty line after it")
}

func TestFormulasOfAnAdviceGiveItsNumbers(t *testing.T) {
	const ms = time.Millisecond
	for want, change := range map[string]func(a *result.Advice){
		"  MasterTimeout: twice the longer of a quorum's p99, 45.0ms, and the farthest master's p50, 60.0ms; at most a tenth of --rto, but at least 50ms and twice a quorum's p50, 7.00ms; a quorum takes longer than 45.0ms at most 1.45% of the times": func(a *result.Advice) {
			a.Trip, a.Quorum, a.OneDown.Took = 7*ms, sizing.Part{Took: 45 * ms, Beyond: 0.01, AtMost: 0.0145}, 60*ms
		},
		"  lost to holds: at most 0.10%; to pauses: 1 - exp(-3 * (mean hold 20.0ms and its acquire) / 15.0s), at most 0.40%\n": func(a *result.Advice) { a.LostHold, a.LostPause = 0.001, 0.004 },
		"  lost to holds: at most 0%; to pauses: no bound\n":                                                                   func(a *result.Advice) { a.LostHold, a.LostPause = 0, 1 },
	} {
		require.Contains(t, textOf((*Blocks).explained, change), want)
	}
}

// textOf returns the lines that a part of the view has of an advice with a change.
func textOf(part func(*Blocks, *result.Advice), change func(*result.Advice)) string {
	a := advices()["near, given"]
	change(a)
	var b Blocks
	part(&b, a)
	var all strings.Builder
	for _, block := range b {
		all.WriteString(block.Line + "\n")
	}
	return all.String()
}

func TestTextsOfAnAdviceFollowFromItsNumbers(t *testing.T) {
	const ms = time.Millisecond
	for want, change := range map[string]func(a *result.Advice){
		"MasterTimeout    50ms  the least; a quorum's p99.9 is 13ms": func(a *result.Advice) {
			a.Config.MasterTimeout, a.Quorum = 50*ms, sizing.Part{Took: 13 * ms, Beyond: 0.001}
		},
		"MasterTimeout    90ms  twice a quorum's p99, 45ms": func(a *result.Advice) {
			a.Config.MasterTimeout, a.Quorum = 90*ms, sizing.Part{Took: 45 * ms, Beyond: 0.01}
		},
		"MasterTimeout   100ms  a tenth of --rto; a quorum's p99 is 80ms": func(a *result.Advice) {
			a.Config.MasterTimeout, a.Ask.RTO, a.Quorum = 100*ms, time.Second, sizing.Part{Took: 80 * ms, Beyond: 0.01}
		},
		"MasterTimeout   140ms  twice a quorum's p50, 70ms; --rto allows no more": func(a *result.Advice) {
			a.Config.MasterTimeout, a.Trip, a.Ask.RTO, a.Quorum = 140*ms, 70*ms, time.Second, sizing.Part{Took: 80 * ms, Beyond: 0.01}
		},
		"MaxTTL            30s  the engine's default; restarted masters wait for 31s": func(a *result.Advice) { a.Config.MaxTTL = 30 * time.Second },
		"MaxTTL          840ms  as TTL; restarted masters wait for 1.9s":              func(a *result.Advice) { a.Config.MaxTTL = a.Config.TTL },
		"MaxTTL            29s  what --rto allows; restarted masters wait for 30s":    func(a *result.Advice) { a.Config.MaxTTL = 29 * time.Second },
		"1.50% of the votes of 2 at once split, with one down\n":                      func(a *result.Advice) { a.SplitShare = 0.015 },
		"1.60% of the votes of 2 at once split\n":                                     func(a *result.Advice) { a.Masters, a.SplitShare = 4, 0.016 },
		"RetrySplit      100us  no two probes that were compared split a vote\n":      func(a *result.Advice) { a.Config.RetrySplit, a.SplitShare = 100_000, 0 },
		"  hold 60ms: pauses left out, none of 2,000 was longer\n":                    func(a *result.Advice) { a.Hold = sizing.Part{Took: 60 * ms, From: sizing.Seen, N: 2000} },
		"  hold 50ms: pauses left out, 1.00% are longer or not over, at most 1.45%\n": func(a *result.Advice) {
			a.Hold = sizing.Part{Took: 50 * ms, From: sizing.Seen, N: 2000, Beyond: 0.01, AtMost: 0.0145}
		},
		"pause 600ms: the longest seen, 300ms, counted twice; longer: not seen in 15s": func(a *result.Advice) {
			a.Pause = sizing.Part{Took: 600 * ms, From: sizing.Seen, Longest: 300 * ms}
		},
		"pause 800ms: 500ms together, and the longest, 300ms; longer: not seen in 15s": func(a *result.Advice) {
			a.Pause = sizing.Part{Took: 800 * ms, From: sizing.Seen, Longest: 300 * ms}
		},
		"still lost: at most 80.0% of the acquisitions lose their lock (95 %)": func(a *result.Advice) { a.Lost, a.LostHold, a.LostPause = 0.8, 0.79, 0.01 },
		"still lost: in longer pauses, at most one in 5s (95 %)":               func(a *result.Advice) { a.Lost, a.LostHold, a.LostPause = 0.8, 0.01, 0.79 },
		"still lost: in outages of the masters, for which nobody watched\n": func(a *result.Advice) {
			a.Config.Renew, a.Lost, a.LostHold, a.LostPause, a.Outage = true, 1, 0, 1, sizing.Part{}
		},
		"Drift            0.01  the engine's default; none seen is off by over 17 ppm\n": func(a *result.Advice) {},
		"Drift            0.01  the engine's default; none seen is off by over 1 ppm\n":  func(a *result.Advice) { a.Slowest = 0.2 },
		"Drift            0.01  the engine's default; no clock's rate was seen\n":        func(a *result.Advice) { a.Slowest = 0 },
		"MasterTimeout    1.2s  twice a quorum's p50, 560ms; --rto allows no more": func(a *result.Advice) {
			a.Config.MasterTimeout, a.Trip, a.Ask.RTO, a.Quorum = 1200*ms, 560*ms, 11_300*ms, sizing.Part{Took: 800 * ms, Beyond: 0.01}
		},
		"  hold 1s: assumed, longer ones lose their lock; give --hold\n":         func(a *result.Advice) { a.Hold = sizing.Part{Took: time.Second, From: sizing.Assumed} },
		"change first: a shorter --pause, or a longer --rto\n":                   func(a *result.Advice) { a.Missed = true },
		"change first: what pauses the holder, or a longer --rto\n":              func(a *result.Advice) { a.Missed, a.Pause.From = true, sizing.Seen },
		"plus the time to redial\nchange first: a longer --rto\n":                func(a *result.Advice) { a.Missed, a.Outage.Took = true, time.Second },
		"change first: a longer --rto\n":                                         func(a *result.Advice) { a.Missed, a.Acquire.Took = true, time.Second },
		"change first: watch for longer than 15s: Config.Measure, then --from\n": func(a *result.Advice) {},
		"change first: watch for longer than 15s: lockbench advise --duration\n": func(a *result.Advice) {
			a.Config.Renew, a.Lost, a.LostHold, a.LostPause, a.Outage = true, 1, 0, 1, sizing.Part{From: sizing.Seen}
		},
		"change first: the clocks of the masters; lockbench run tries no Drift but 0.01": func(a *result.Advice) { a.Config.Drift, a.Try = 0.016, "" },
		"change first: watch the masters for outages: lockbench advise --masters": func(a *result.Advice) {
			a.Config.Renew, a.Lost, a.LostHold, a.LostPause, a.Outage = true, 1, 0, 1, sizing.Part{}
		},
	} {
		require.Contains(t, textOf((*Blocks).advice, change), want)
	}
}
