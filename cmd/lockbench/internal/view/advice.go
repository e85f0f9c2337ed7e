package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/redlock"
)

// advice shows one screen: what to set and why, how long a crash blocks others, what is needed at least,
// what may still be lost, and how to set it and try it.
func (b *Blocks) advice(a *result.Advice) {
	b.Line("muxlock on %d masters, watched for %s", a.Masters, short(a.Watched))
	b.missed(a)
	for _, row := range settings(a) {
		b.Line("  %-13s %6s  %s", row[0], row[1], row[2])
	}
	b.Line("A crashed holder blocks others for up to %s.", upTo(a.Blocks))
	b.Line("  With Lead that is the time without a leader.")
	if a.Longest > a.Config.TTL {
		b.Line("The longest ttl in use was %s: a call that still asks for it blocks for that.", short(a.Longest))
	}
	b.aboveMaxTTL(a)
	b.needed(a)
	b.lost(a)
	for _, note := range a.Notes {
		b.bad("%s", note)
	}
	b.Line("No TTL outlasts every pause: have the resource check a fencing token.")
	if !a.Advised() {
		return
	}
	*b = append(*b, Block{Line: "\n" + snippet(a.Config), Code: true})
	if a.Try != "" {
		b.Line("  %s", a.Try)
	}
}

// missed says that the RTO allows less than is needed, and what to change.
func (b *Blocks) missed(a *result.Advice) {
	if !a.Missed {
		return
	}
	b.bad("TOO SHORT: --rto %s allows a TTL of %s at most, and %s is needed.", short(a.Ask.RTO), short(a.Allowed), short(a.Needed))
	change := "what takes up the most of what is needed"
	switch most := max(a.Pause.Took, a.Outage.Took, a.Acquire); {
	case !a.Config.Renew && a.Hold.Took > most:
		change = "shorter holds"
	case a.Pause.Took == most && a.Pause.Given:
		change = "a shorter --pause"
	case a.Pause.Took == most:
		change = "what pauses the holder"
	case a.Config.Renew && a.Outage.Took == most:
		change = "what keeps the masters away"
	default:
		change = "nearer masters"
	}
	b.Line("Change one of them: --rto %s or more, or %s.", short(a.Enough), change)
}

// settings returns name, value and reason of each setting.
func settings(a *result.Advice) [][3]string {
	c := a.Config
	ttl := map[sizing.Reason]string{
		sizing.ByRTO:     "the largest round number that --rto " + short(a.Ask.RTO) + " allows",
		sizing.ByMaxTTL:  "the largest round number up to the MaxTTL in use",
		sizing.ByDefault: "the engine's default (--rto: how long a crash may block)",
		sizing.ByNeed:    "what is needed, rounded up",
	}[a.Why]
	most := "as in use"
	switch {
	case c.MaxTTL > a.InUse:
		most = "for this TTL"
	case c.MaxTTL == redlock.DefaultMaxTTL:
		most = "the engine's default"
	}
	who, slow, p := "a quorum takes", a.Quorum.Took, a.QuorumP
	if a.OneDown > slow {
		who, slow, p = "the farthest master takes", a.OneDown, 50
	}
	took := fmt.Sprintf("%s (p%s)", short(slow), strconv.FormatFloat(p, 'g', 4, 64))
	timeout := fmt.Sprintf("about twice what %s, %s", who, took)
	switch {
	case c.MasterTimeout == sizing.LeastTimeout:
		timeout = fmt.Sprintf("the least; %s %s", who, took)
	case c.MasterTimeout < 2*slow:
		timeout = "a longer one would need a longer TTL"
	}
	drift := "the engine's default; no clock's rate was seen"
	switch {
	case c.Drift > redlock.DefaultDrift:
		drift = fmt.Sprintf("clocks are off by up to %.0f ppm, or jump: mend them", math.Ceil(a.Slowest))
	case a.Slowest > 0:
		drift = fmt.Sprintf("the engine's default; clocks seen are within %.0f ppm", math.Ceil(a.Slowest))
	}
	rows := [][3]string{
		{"TTL", short(c.TTL), ttl},
		{"MaxTTL", short(c.MaxTTL), fmt.Sprintf("%s; a restarted master waits for %s", most, upTo(redlock.RestartWait(c.MaxTTL, c.Drift)))},
		{"MasterTimeout", short(c.MasterTimeout), timeout},
		{"Drift", strconv.FormatFloat(c.Drift, 'g', -1, 64), drift},
	}
	if c.RetrySplit > 0 {
		rows = append(rows, [3]string{"RetrySplit", short(c.RetrySplit), "four round trips to the masters, " + short(a.Trip)})
	}
	return rows
}

// aboveMaxTTL says what a longer MaxTTL costs.
func (b *Blocks) aboveMaxTTL(a *result.Advice) {
	if a.Config.MaxTTL <= a.InUse {
		return
	}
	b.bad("MaxTTL is %s now. First give %s to every process of these masters.", short(a.InUse), short(a.Config.MaxTTL))
	if a.Config.Fencing {
		b.bad("Then set the masters up again: muxlock masters init --max-ttl %s", short(a.Config.MaxTTL))
		b.bad("--recover --above FENCE, the largest fence so far; and restart all clients.")
	}
}

// needed shows the least TTL and its parts.
func (b *Blocks) needed(a *result.Advice) {
	if a.Config.Renew || a.Needed > a.Unkept {
		b.neededToRenew(a)
	} else {
		hold := "the longest of " + units.Number(a.Hold.N)
		if a.Ask.Hold != nil {
			hold += " drawn from " + a.Ask.Hold.String()
		}
		if a.Open > 0 {
			hold += fmt.Sprintf("; %s more were not released", units.Number(a.Open))
		}
		b.Line("Needed at least: %s, if the longest of all came together:", short(a.Needed))
		b.Line("  acquire %6s  %s", short(a.Acquire), acquireText(a))
		b.Line("  hold    %6s  %s", short(a.Hold.Took), hold)
		b.Line("  pause   %6s  %s", short(a.Pause.Took), pauseText(a, "the most that pauses took from so long a hold"))
		b.Line("  clocks  %6s  what clocks may differ by meanwhile, and 2ms", short(a.Clocks))
	}
	if times := float64(a.Config.TTL) / float64(a.Needed); !a.Missed {
		what, text := "was seen to be needed", fmt.Sprintf("%.1f", math.Floor(10*times)/10)
		if a.Ask.Hold != nil || a.Pause.Given {
			what = "is needed at least"
		}
		if times >= 10 {
			text = units.Number(math.Floor(times))
		}
		b.Line("The TTL is %s times what %s.", text, what)
	}
}

// neededToRenew shows the least TTL of locks that are renewed.
func (b *Blocks) neededToRenew(a *result.Advice) {
	switch {
	case a.Unkept == 0:
		b.Line("The locks are renewed. Needed at least: %s.", short(a.Needed))
	case a.Config.Renew:
		b.Line("Renew the locks (KeepAlive, Do, Lead). Needed at least: %s.", short(a.Needed))
		b.Line("  Without renewals it would be %s, for holds of %s.", short(a.Unkept), short(a.Hold.Took))
	default:
		b.Line("Needed at least: %s, for the %s of the locks that are renewed.", short(a.Needed), units.Share(a.Renewed))
		b.Line("  The others need %s, for holds of %s.", short(a.Unkept), short(a.Hold.Took))
	}
	took, outage := outageText(a)
	b.Line("  3/8 of the TTL pass until a renewal is sent again. The rest must outlast the")
	b.Line("  longest of these, two answers of a quorum, and %s for clocks:", short(a.Clocks))
	b.Line("  pause  %7s  %s", short(a.Pause.Took), pauseText(a, "the longest; those closer than MasterTimeout are one"))
	b.Line("  outage %7s  %s", took, outage)
	b.Line("  answer %7s  MasterTimeout, of a renewal that is not answered", short(a.Config.MasterTimeout))
}

func pauseText(a *result.Advice, seen string) string {
	if a.Pause.Given {
		return "given (--pause); none so long was seen"
	}
	return seen
}

// acquireText says what bounds the time until Acquire returns.
func acquireText(a *result.Advice) string {
	text, most := "MasterTimeout", a.Config.MasterTimeout
	if a.Config.Fencing {
		text, most = "twice MasterTimeout", 2*most
	}
	if a.Acquire > most {
		text += ", and hand-overs in the process"
	}
	return text + ": longer ones fail"
}

// atMost writes a share, rounded up.
func atMost(share float64) string {
	return units.Share(min(float64(sizing.RoundUp(time.Duration(math.Ceil(share*1e9))))/1e9, 1))
}

func outageText(a *result.Advice) (took, text string) {
	switch {
	case a.Outage.N == 0:
		return none, "not watched: lockbench advise --masters watches masters"
	case a.Outage.Took == 0:
		return none, "of the masters: none was seen"
	}
	return short(a.Outage.Took), "the longest without a quorum, until a renewal can win again"
}

// lost shows what the replay lost and what may be lost.
func (b *Blocks) lost(a *result.Advice) {
	b.Line("Replayed with this TTL, the measurement loses %s of %s locks.", map[bool]string{true: "none", false: units.Number(a.Lost)}[a.Lost == 0], units.Number(a.Replayed))
	if a.Missed {
		return
	}
	if a.Config.Renew || a.Renewed > 0 {
		outage := map[bool]string{true: " or outage"}[a.Outage.N > 0]
		b.Line("95 %% sure: a pause%s that costs renewed locks comes at most every %s.", outage, short(a.Every))
	}
	if !a.Config.Renew {
		b.Line("95 %% sure: at most %s of the locks that are not renewed are lost.", atMost(a.AtMost))
	}
	b.Line("  That is a bound, no estimate. To know more, watch for longer than %s.", short(a.Watched))
}

// snippet returns Go code to paste; the user adds the masters.
func snippet(c sizing.Config) string {
	fencing, split := "", ""
	if c.Fencing {
		fencing = " Fencing: true,"
	}
	if c.RetrySplit > 0 {
		split = ", RetrySplit: " + literal(c.RetrySplit)
	}
	return fmt.Sprintf("engine.Config{Masters: masters,%s Drift: %g,\n\tTTL: %s, MaxTTL: %s,\n\tMasterTimeout: %s%s}",
		fencing, c.Drift, literal(c.TTL), literal(c.MaxTTL), literal(c.MasterTimeout), split)
}

// literal writes a duration as Go code; sizes are whole milliseconds.
func literal(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d * time.Second", d/time.Second)
	}
	return fmt.Sprintf("%d * time.Millisecond", d/time.Millisecond)
}

// upTo writes a time, rounded up to a tenth of a second, or a hundredth.
func upTo(d time.Duration) string {
	step := 10 * time.Millisecond
	if d > 10*time.Second {
		step *= 10
	}
	return seconds((d + step - 1) / step * step)
}

// short writes a time without digits that mean nothing.
func short(d time.Duration) string {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(d), 'g', 2, 64), 64)
	return seconds(time.Duration(v))
}

// seconds writes a time without minutes.
func seconds(d time.Duration) string {
	if d >= time.Second {
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
	}
	return strings.Replace(d.String(), "µ", "u", 1)
}
