package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/redlock"
)

// advice shows one screen: what to set and why, how long a crash blocks others, what is needed at least,
// what may still be lost, and how to set it and try it.
func (b *Blocks) advice(a *result.Advice) {
	c := a.Config
	renewed := c.Renew || a.Needed > a.Unkept
	b.Line("Measured: muxlock on %d masters, for %s.", a.Masters, short(a.Watched))
	if a.Missed {
		b.bad("TOO SHORT: --rto %s allows a TTL of %s at most, and %s is needed.", units.Exact(a.Ask.RTO), units.Exact(a.Allowed), short(a.Needed))
		most := slices.MaxFunc(parts(a, renewed), func(p, q part) int { return cmp.Compare(p.took, q.took) })
		b.Line("Give --rto %s or more, or change %s.", short(a.Enough), most.what)
	}
	if a.Advised() {
		b.settings(a)
	}
	b.needed(a, renewed)
	b.lost(a)
	for _, note := range a.Notes {
		b.bad("%s", note)
	}
	b.Line("No TTL outlasts every pause: let the resource check Lock.Fence (Config.Fencing).")
	if !a.Advised() {
		return
	}
	*b = append(*b, Block{Line: "\n" + snippet(c), Code: true})
	if a.Try != "" {
		b.Line("To try it (exit code 3 if it loses more than 1%% of the locks):")
		b.Line("  %s", a.Try)
	}
}

// settings shows each setting with its reason, how long a crash blocks others, and how to raise MaxTTL.
func (b *Blocks) settings(a *result.Advice) {
	c := a.Config
	ttl := map[sizing.Reason]string{
		sizing.ByRTO:     fmt.Sprintf("--rto %s allows %s; the next lower round number", units.Exact(a.Ask.RTO), units.Exact(a.Allowed)),
		sizing.ByMaxTTL:  "at most the MaxTTL in use; rounded down",
		sizing.ByDefault: "the engine's default, as no --rto is given",
		sizing.ByNeed:    "the least that is needed (see below), rounded up",
	}[a.Why]
	most := either(a.InUse == redlock.DefaultMaxTTL, "the default", "as measured")
	if c.MaxTTL > a.InUse {
		most = "raised"
	}
	slow, took := a.Quorum, fmt.Sprintf("%g%% of quorums answer within %s", a.QuorumP, short(a.Quorum))
	if a.OneDown > slow {
		slow, took = a.OneDown, "the farthest master's median is "+short(a.OneDown)
	}
	timeout := "about double; "
	switch {
	case c.MasterTimeout == sizing.LeastTimeout:
		timeout = "the least advised; "
	case c.MasterTimeout < 2*slow:
		timeout = "capped by the TTL; "
	}
	clocks := either(a.Slowest > 0, fmt.Sprintf("the clocks are within %.0f ppm", math.Ceil(a.Slowest)), "no clock was compared")
	for _, row := range [][3]string{
		{"TTL", units.Exact(c.TTL), ttl},
		{"MaxTTL", units.Exact(c.MaxTTL), most + "; a restarted master votes after " + upTo(redlock.RestartWait(c.MaxTTL, redlock.DefaultDrift))},
		{"MasterTimeout", units.Exact(c.MasterTimeout), timeout + took},
		{"Drift", "0.01", "the engine's default; " + clocks},
	} {
		b.Line("  %-13s %6s  %s", row[0], row[1], row[2])
	}
	allows := either(a.Ask.RTO > 0, "--rto allows "+units.Exact(a.Ask.RTO), "see --rto")
	b.Line("A crashed holder or leader blocks others for up to %s (%s).", upTo(a.Blocks), allows)
	b.when(a.Longest > c.TTL, "Some calls ask for a ttl of up to %s: crashed, they block for that long.", units.Exact(a.Longest))
	switch longer := c.MaxTTL > a.InUse; {
	case longer && c.Fencing: // a set refuses clients with another MaxTTL
		b.bad("MaxTTL must grow from %s to %s, at the masters M and in every client:", units.Exact(a.InUse), units.Exact(c.MaxTTL))
		b.bad("1. muxlock masters init --masters M --max-ttl %s --recover --above FENCE", units.Exact(c.MaxTTL))
		b.bad("   FENCE is the largest fence that any resource has stored.")
		b.bad("2. Restart each client with MaxTTL %s. Until then it gets no locks.", units.Exact(c.MaxTTL))
	case longer:
		b.bad("First set MaxTTL %s (now %s) in every process that uses these masters.", units.Exact(c.MaxTTL), units.Exact(a.InUse))
	}
}

// part is a time that the TTL must outlast, and what would make it shorter.
type part struct {
	name      string
	took      time.Duration
	why, what string
}

// parts returns what the TTL of locks that are not renewed must outlast together, or that of renewed ones by
// the longest.
func parts(a *result.Advice, renewed bool) []part {
	pause := part{"pause", a.Pause.Took, "what measured pauses of the process add to acquire and hold", "what pauses the holder"}
	switch {
	case a.Pause.Given:
		pause.why, pause.what = "given (--pause); none so long was seen", "--pause"
	case a.Pause.Took == 0:
		pause.why = "none was seen"
	case renewed:
		pause.why = "the longest; pauses less than MasterTimeout apart count as one"
	}
	const way = "the way to the masters"
	if renewed {
		outage := either(a.Outage.Took == 0, "no time without a quorum was seen", "the longest without a quorum, until a renewal can win again")
		if a.Outage.N == 0 {
			outage = "not watched, so left out; lockbench advise --masters watches"
		}
		return []part{
			pause, {"outage", a.Outage.Took, outage, "what keeps the masters away"},
			{"answer", a.Config.MasterTimeout, "a renewal without an answer gives up after MasterTimeout", way},
		}
	}
	acquire := "it gives up after " + either(a.Config.Fencing, "twice ", "") + "MasterTimeout" + either(a.Shared, "; plus a hand-over", "")
	hold := "the longest of " + units.Number(a.Hold.N)
	if a.Ask.Hold != nil {
		hold += " drawn from " + a.Ask.Hold.String()
	}
	if a.Open > 0 {
		hold += fmt.Sprintf("; %s more were not released", units.Number(a.Open))
	}
	return []part{
		{"acquire", a.Acquire, acquire, way}, {"hold", a.Hold.Took, hold, "how long locks are held"}, pause,
		{"clocks", a.Clocks, "Redlock's allowance for clocks: Drift x " + short(a.Needed) + " + 2ms", ""},
	}
}

// needed shows the least TTL and its parts.
func (b *Blocks) needed(a *result.Advice, renewed bool) {
	if renewed {
		which := either(a.Config.Renew, "Renew the locks (KeepAlive, Do, Lead)", "Some of the measured locks are renewed")
		b.Line("%s. Their TTL must be at least %s.", which, short(a.Needed))
		others := either(a.Config.Renew, "Without renewals they would need", "The locks that are not renewed need")
		b.when(a.Unkept > 0, "  %s %s: a hold of %s and its pauses.", others, short(a.Unkept), short(a.Hold.Took))
		b.Line("  A renewal is sent when half of the TTL is left, or earlier. If it fails, the")
		b.Line("  next is sent 1/24 of the TTL later. The last 11/24 must outlast the longest")
		b.Line("  of these, plus %s for a quorum to answer the next renewal:", short(a.Quorum))
	} else {
		b.Line("The TTL must be at least %s, the sum of the longest (rounded up):", short(a.Needed))
	}
	for _, p := range parts(a, renewed) {
		b.Line("  %-7s %6s  %s", p.name, either(p.took == 0, units.None, short(p.took)), p.why)
	}
	b.when(!a.Missed, "The advised TTL is %s times that minimum.", times(float64(a.Config.TTL)/float64(a.Needed)))
}

// lost shows what the replay lost and what may be lost.
func (b *Blocks) lost(a *result.Advice) {
	b.Line("Lost with TTL %s: %s of %s locks simulated from the measurement.", units.Exact(a.Config.TTL), either(a.Lost == 0, "none", units.Number(a.Lost)), units.Number(a.Replayed))
	if a.Missed {
		return
	}
	b.Line("Worse may come than was seen. With 95%% confidence, %s of watching prove only:", short(a.Watched))
	b.when(!a.Config.Renew, "  at most %.2f%% of the locks%s are lost.", math.Ceil(1e4*a.AtMost)/100, either(a.Renewed > 0, " that are not renewed", ""))
	b.when(a.Config.Renew || a.Renewed > 0, "  pauses%s that cost renewed locks come at most once in %s.", either(a.Outage.N > 0, " or outages", ""), short(a.Every))
	b.Line("These are bounds, no forecast. A longer measurement gives tighter ones.")
}

// times writes a ratio, rounded down.
func times(v float64) string {
	if v >= 10 {
		return units.Number(math.Floor(v))
	}
	return fmt.Sprintf("%.1f", math.Floor(10*v)/10)
}

// snippet returns Go code to paste; the user adds the masters.
func snippet(c sizing.Config) string {
	return fmt.Sprintf("engine.Config{Masters: masters,%s\n\tTTL: %s, MaxTTL: %s,\n\tMasterTimeout: %s}",
		either(c.Fencing, " Fencing: true,", ""), literal(c.TTL), literal(c.MaxTTL), literal(c.MasterTimeout))
}

// literal writes a duration as Go code; sizes are whole milliseconds.
func literal(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d * time.Second", d/time.Second)
	}
	return fmt.Sprintf("%d * time.Millisecond", d/time.Millisecond)
}

// upTo writes a time, rounded up.
func upTo(d time.Duration) string {
	const step = 10 * time.Millisecond
	return units.Exact((d + step - 1).Truncate(step))
}

// short writes a time without digits that mean nothing.
func short(d time.Duration) string {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(d), 'g', 2, 64), 64)
	return units.Exact(time.Duration(v))
}
