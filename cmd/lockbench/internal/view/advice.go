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

// advice shows one screen: what to set and why, how often locks will still be lost, what to change
// then, and how to set it and try it.
func (b *Blocks) advice(a *result.Advice) {
	b.Line("muxlock on %d masters, watched for %s; a crashed holder may block for %s", a.Masters, short(a.Watched), short(a.Ask.RTO))
	if a.Missed {
		b.bad("BEYOND --rto: a crashed holder will block others for up to %s", short(a.Blocks))
	}
	if len(a.Warnings) > 0 {
		b.bad("CAUTION: the measurement came with warnings; --explain shows them")
	}
	for _, row := range settings(a) {
		b.Line("  %-13s %7s  %s", row[0], row[1], row[2])
	}
	b.spread("TTL", a.Spread.TTL)
	b.spread("MasterTimeout", a.Spread.MasterTimeout)
	b.wrong(a)
	b.Line("change first: %s", changeFirst(a))
	b.Line("No TTL outlasts every pause: have the resource check a fencing token.")
	*b = append(*b, Block{Line: "\n" + snippet(a.Config), Code: true})
	if a.Try != "" {
		b.Line("  %s", a.Try)
	}
}

// settings returns name, value and reason of each setting.
func settings(a *result.Advice) [][3]string {
	c := a.Config
	ttl := fmt.Sprintf("acquire %s, hold %s, pause %s, clocks %s", short(a.Acquire.Took), short(a.Hold.Took), short(a.Pause.Took), short(a.Clocks))
	switch {
	case c.Renew && a.Outage.Took > a.Pause.Took:
		ttl = fmt.Sprintf("renewed (KeepAlive, Do); outlasts an outage of %s", short(a.Outage.Took))
	case c.Renew:
		ttl = fmt.Sprintf("renewed (KeepAlive, Do); outlasts a pause of %s", short(a.Pause.Took))
	}
	slow, what := a.Quorum.Took, "a quorum's "+percentile(a.Quorum.Beyond)
	if a.OneDown.Took > slow {
		slow, what = a.OneDown.Took, "the farthest master's p50"
	}
	timeout := fmt.Sprintf("a tenth of --rto; %s is %s", what, short(slow))
	switch {
	case c.MasterTimeout == sizing.LeastTimeout:
		timeout = fmt.Sprintf("the least; %s is %s", what, short(slow))
	case c.MasterTimeout >= 2*slow:
		timeout = fmt.Sprintf("twice %s, %s", what, short(slow))
	case c.MasterTimeout > a.Ask.RTO/10:
		timeout = fmt.Sprintf("twice a quorum's p50, %s; --rto allows no more", short(a.Trip))
	}
	split := "no two probes that were compared split a vote"
	if a.SplitShare > 0 {
		split = fmt.Sprintf("%s of the votes of %d at once split", units.Share(a.SplitShare), a.Waiters)
		if a.Masters%2 == 1 { // which all together split no vote of two
			split += ", with one down"
		}
	}
	drift := "the engine's default; no clock's rate was seen"
	switch {
	case c.Drift > redlock.DefaultDrift:
		drift = fmt.Sprintf("clocks are off by up to %.0f ppm, or jump: mend them", math.Ceil(a.Slowest))
	case a.Slowest > 0:
		drift = fmt.Sprintf("the engine's default; none seen is off by over %.0f ppm", math.Ceil(a.Slowest))
	}
	most := "what --rto allows"
	switch c.MaxTTL {
	case c.TTL:
		most = "as TTL"
	case redlock.DefaultMaxTTL:
		most = "the engine's default"
	}
	return [][3]string{
		{"TTL", short(c.TTL), ttl},
		{"MasterTimeout", short(c.MasterTimeout), timeout},
		{"RetryHeld", short(c.RetryHeld), "how often waiters look where nothing wakes them"},
		{"RetrySplit", short(c.RetrySplit), split},
		{"MaxTTL", short(c.MaxTTL), fmt.Sprintf("%s; restarted masters wait for %s", most, short(redlock.RestartWait(c.MaxTTL, c.Drift)))},
		{"Drift", strconv.FormatFloat(c.Drift, 'g', -1, 64), drift},
	}
}

// wrong shows how often a lock will still be lost, as seen and as assumed.
func (b *Blocks) wrong(a *result.Advice) {
	switch {
	case a.Config.Renew && a.Outage.From == "":
		b.Line("still lost: in outages of the masters, for which nobody watched")
	case a.LostPause <= max(a.LostHold, 0.5):
		b.Line("still lost: at most %s of the acquisitions lose their lock (95 %%)", units.Share(a.Lost))
	default: // none came in the watched time, which shows no more
		b.Line("still lost: in longer pauses%s, at most one in %s (95 %%)", map[bool]string{true: " or outages"}[a.Config.Renew], short(a.Watched/3))
	}
	if !a.Config.Renew {
		text := fmt.Sprintf("pauses left out, %s are longer or not over, at most %s", units.Share(a.Hold.Beyond), units.Share(a.Hold.AtMost))
		switch {
		case a.Hold.From == sizing.Assumed:
			text = "assumed, longer ones lose their lock; give --hold"
		case a.Hold.N == 0:
			text = fmt.Sprintf("given, %s are longer", units.Share(a.Hold.Beyond))
		case a.Hold.Beyond == 0:
			text = fmt.Sprintf("pauses left out, none of %s was longer", units.Number(a.Hold.N))
		}
		b.Line("  hold %s: %s", short(a.Hold.Took), text)
	}
	switch together := a.Pause.Took - a.Pause.Longest; {
	case a.Pause.From == sizing.Assumed:
		b.Line("  pause %s: assumed (--pause); the longest seen in %s was %s", short(a.Pause.Took), short(a.Watched), short(a.Pause.Longest))
	case together > a.Pause.Longest:
		b.Line("  pause %s: %s together, and the longest, %s; longer: not seen in %s", short(a.Pause.Took), short(together), short(a.Pause.Longest), short(a.Watched))
	default:
		b.Line("  pause %s: the longest seen, %s, counted twice; longer: not seen in %s", short(a.Pause.Took), short(a.Pause.Longest), short(a.Watched))
	}
	if a.Outage.Took > 0 {
		b.Line("  outage %s: twice the longest seen, %s, plus the time to redial", short(a.Outage.Took), short(a.Outage.Longest))
	}
}

// changeFirst names the largest part of the TTL, or of the unknown.
func changeFirst(a *result.Advice) string {
	switch {
	case a.Config.Drift > redlock.DefaultDrift:
		return fmt.Sprintf("the clocks of the masters; lockbench run tries no Drift but %g", redlock.DefaultDrift)
	case a.Hold.From == sizing.Assumed:
		return "give --hold: the hold of 1s is assumed"
	case a.Missed && a.Pause.Took < max(a.Acquire.Took, a.Outage.Took):
		return "a longer --rto"
	case a.Missed && a.Pause.From == sizing.Assumed:
		return "a shorter --pause, or a longer --rto"
	case a.Missed:
		return "what pauses the holder, or a longer --rto"
	case a.Config.Renew && a.Outage.From == "":
		return "watch the masters for outages: lockbench advise --masters"
	case a.Config.Renew: // of outages, a process knows nothing
		return fmt.Sprintf("watch for longer than %s: lockbench advise --duration", short(a.Watched))
	case a.LostPause > a.LostHold:
		return fmt.Sprintf("watch for longer than %s: Config.Measure, then --from", short(a.Watched))
	}
	return "renew (KeepAlive, Do): then no hold is too long"
}

// spread shows the interval of a size.
func (b *Blocks) spread(name string, i *sizing.Interval) {
	if i != nil {
		b.Line("  measured again, %s would be %s to %s (95 %%)", name, short(sizing.RoundUp(i.From)), short(sizing.RoundUp(i.To)))
	}
}

// explained shows the parts of the sizes.
func (b *Blocks) explained(a *result.Advice) {
	t := Table{Caption: "Measured; an end that was not seen counts as longer than all", Texts: 1, Heads: []string{"", "p50", "p99", "longest", "n", "no end seen"}}
	for _, in := range a.Inputs {
		t.Rows = append(t.Rows, cells(in.Name, ns(in.P50), ns(in.P99), ns(in.Longest), units.Number(in.N), units.Number(in.Censored)))
	}
	b.Table(t)
	b.Line("Formulas, T the TTL:")
	if a.Config.Renew {
		b.Line("  T = (2 * quorum %s + the longest of MasterTimeout %s, pause %s and outage %s + clocks) / (1 - Drift - 1/%d - 1/%d), or after a late acquire",
			ns(a.Quorum.Took), ns(a.Config.MasterTimeout), ns(a.Pause.Took), ns(a.Outage.Took), redlock.RenewalsPerTTL, redlock.RetriesPerTTL)
		b.Line("  T = (acquire %s + quorum + the longest of the same + clocks) / (1 - Drift - 1/%d), whichever is longer: %s", ns(a.Acquire.Took), redlock.RetriesPerTTL, ns(a.Least))
	} else {
		b.Line("  T = (acquire %s + hold %s + pause %s + clocks) / (1 - Drift) = %s", ns(a.Acquire.Took), ns(a.Hold.Took), ns(a.Pause.Took), ns(a.Least))
	}
	b.Line("  Drift is without jumps here: they are among the clocks, and T is at least jump / (0.49 - Drift)")
	b.Line("  longest T = (--rto - longest RetryHeld - quorum (twice with fencing) - jump) / (1 + Drift) - 1ms = %s", ns(a.Most))
	b.Line("  acquire: MasterTimeout, twice with fencing, and a hand-over where names are shared")
	b.Line("  MasterTimeout: twice the longer of a quorum's %s, %s, and the farthest master's p50, %s; at most a tenth of --rto, but at least %s and twice a quorum's p50, %s; a quorum takes longer than %s at most %s of the times",
		percentile(a.Quorum.Beyond), ns(a.Quorum.Took), ns(a.OneDown.Took), short(sizing.LeastTimeout), ns(a.Trip), ns(a.Quorum.Took), units.Share(a.Quorum.AtMost))
	pauses := "no bound"
	if a.LostPause < 1 {
		pauses = fmt.Sprintf("1 - exp(-3 * (mean hold %s and its acquire) / %s), at most %s", ns(a.MeanHold), ns(a.Watched), units.Share(a.LostPause))
	}
	b.Line("  lost to holds: at most %s; to pauses: %s", units.Share(a.LostHold), pauses)
	for _, text := range a.Warnings {
		b.bad("WARNING %s", text)
	}
}

// percentile returns p99 if a share of 0.01 is beyond.
func percentile(beyond float64) string { return "p" + strconv.FormatFloat(100-100*beyond, 'g', 4, 64) }

// snippet returns Go code to paste; the user adds the masters.
func snippet(c sizing.Config) string {
	fencing := ""
	if c.Fencing {
		fencing = " Fencing: true,"
	}
	return fmt.Sprintf("engine.Config{Masters: masters,%s Drift: %g,\n\tTTL: %s, MasterTimeout: %s,\n\tMaxTTL: %s, RetryHeld: %s,\n\tRetrySplit: %s}",
		fencing, c.Drift, literal(c.TTL), literal(c.MasterTimeout), literal(c.MaxTTL), literal(c.RetryHeld), literal(c.RetrySplit))
}

// literal writes a duration as Go code; sizes are whole microseconds.
func literal(d time.Duration) string {
	switch {
	case d%time.Second == 0:
		return fmt.Sprintf("%d * time.Second", d/time.Second)
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%d * time.Millisecond", d/time.Millisecond)
	}
	return fmt.Sprintf("%d * time.Microsecond", d/time.Microsecond)
}

// short writes a time without digits that mean nothing.
func short(d time.Duration) string {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(d), 'g', 2, 64), 64)
	if v >= 1e9 {
		return strconv.FormatFloat(v/1e9, 'f', -1, 64) + "s"
	}
	return strings.Replace(time.Duration(v).String(), "µ", "u", 1)
}
