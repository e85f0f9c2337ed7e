package doctor

import (
	"fmt"
	"math"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/cmd/lockbench/internal/view"
	"muxlock/internal/findings"
	"muxlock/internal/redlock"
	"muxlock/internal/serverinfo"
)

// Bounds of what is still fine.
const (
	driftWarn = sizing.SteadySlew // ppm
	driftFail = redlock.DefaultDrift * 1e6
	slewMost  = driftFail / 2 // ppm: one clock may be made faster while the other is made slower
	stepMost  = int64(time.Millisecond)
)

// assumed is what nothing at the masters shows: two processes that assume different things
// may hold one lock.
func assumed(masters int, maxTTL, restartWait time.Duration) findings.Finding {
	return findings.Finding{Level: findings.OK, Check: "assumed", Text: fmt.Sprintf("by every process: these %d masters, MaxTTL %s, and so no vote for %s after a restart",
		masters, maxTTL, restartWait.Round(100*time.Millisecond)), ToDo: "compare with the line \"locks assume\" in the log of each"}
}

// uptime judges when a master votes.
func uptime(info serverinfo.Info, restartWait time.Duration) findings.Finding {
	switch up, known := info.Uptime(); {
	case restartWait == 0:
		return findings.Finding{Level: findings.OK, Check: "uptime", Text: "new: it may vote at once"}
	case !known:
		return findings.Finding{Level: findings.Unknown, Check: "uptime", Text: "it does not report its uptime"}
	case up < restartWait:
		return findings.Finding{Level: findings.Warn, Check: "uptime", Text: fmt.Sprintf("started %s ago: it casts no vote for another %s", up, (restartWait - up).Round(time.Second)),
			ToDo: "wait, or set MastersAreNew (lockbench: --new-masters) if it has never granted a lock"}
	}
	return findings.Finding{Level: findings.OK, Check: "uptime", Text: "up for longer than any lease that it may have forgotten"}
}

// judgeProbe judges what the prober saw.
func judgeProbe(masters []bench.Master, i int) []findings.Finding {
	m := masters[i]
	if m.RTT.Count == 0 {
		return nil // unreachable, which has been said
	}
	us := func(p string) time.Duration { return time.Duration(m.RTT.P[p]).Round(time.Microsecond) }
	trip := findings.Finding{Level: findings.OK, Check: "round trip", Text: fmt.Sprintf("p50 %s, p99 %s of %d", us("50"), us("99"), m.RTT.Count)}
	switch {
	case m.Lost > 0:
		trip.Level, trip.Text = findings.Warn, fmt.Sprintf("%s; %d got no answer", trip.Text, m.Lost)
		trip.ToDo = "see the network, and whether it stalls"
	case view.Slow(masters, i):
		trip.Level, trip.ToDo = findings.Warn, "nearer, or on a faster machine; it decides nothing as long as a majority is faster"
	}
	clock := findings.Finding{Level: findings.OK, Check: "clock", Text: fmt.Sprintf("off by less than %d ppm, no step", driftWarn)}
	switch c := m.Clock; {
	case c == nil:
		clock.Level, clock.Text = findings.Unknown, "not known: TIME is not permitted, or too few answers"
	case c.JumpNs > stepMost:
		clock.Level, clock.Text = findings.Warn, view.Clock(c)+": a step forward ends leases early"
		clock.ToDo = "let its time daemon slew, not step; look again for longer (--for 1m)"
	case math.Abs(c.PPM)-c.PPMError > driftFail:
		clock.Level, clock.Text, clock.ToDo = findings.Fail, view.Clock(c)+": more than the engine allows for", "mend its clock, or raise Drift"
	case math.Abs(c.PPM)-c.PPMError > driftWarn:
		clock.Level, clock.Text, clock.ToDo = findings.Warn, view.Clock(c), "see its time daemon"
	case c.PPMError > driftWarn:
		clock.Level, clock.Text, clock.ToDo = findings.Unknown, view.Clock(c), "look for longer: --for 30s"
	}
	return []findings.Finding{trip, clock}
}
