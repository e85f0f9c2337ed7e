package probe

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/redis/rueidis"

	"muxlock/bench"
	"muxlock/engine/admin"
	"muxlock/internal/redlock"
)

const (
	watchEvery = 5 * time.Millisecond

	driftWarn = 500                        // ppm: a time daemon in its steady state changes the rate by less
	driftFail = redlock.DefaultDrift * 1e6 // ppm
	stepMost  = time.Millisecond
)

// Watch probes the masters until length is over or ctx ends. It judges their round trips and clocks, except those of a
// master that never answers: admin.Check reports that one. client is the template of the connections. A malformed address is
// an error.
func Watch(ctx context.Context, masters []string, client rueidis.ClientOption, length time.Duration) (all []Master, found []admin.Finding, err error) {
	p, err := Open(ctx, masters, Options{Every: watchEvery, Timeout: time.Second, Client: client})
	if err != nil {
		return nil, nil, err
	}
	p.Start(ctx, time.Now(), length)
	p.all.Wait()
	all = p.Stop().Masters
	for i := range all {
		all[i].RTT.HDR = "" // who reads a doctor's findings has no use for a histogram
	}
	for _, judge := range []func([]Master, int) admin.Finding{roundTrip, clock} {
		for i := range all {
			if all[i].RTT.Count > 0 {
				f := judge(all, i)
				f.Masters = []int{i + 1}
				found = append(found, f)
			}
		}
	}
	return all, found, nil
}

// roundTrip judges the round trips to master i.
func roundTrip(all []Master, i int) admin.Finding {
	w := all[i]
	us := func(p string) time.Duration { return time.Duration(w.RTT.P[p]).Round(time.Microsecond) }
	f := admin.Finding{Level: admin.LevelOK, Check: "round trip", Text: fmt.Sprintf("p50 %s, p99 %s of %d", us("50"), us("99"), w.RTT.Count)}
	switch {
	case w.Lost > 0:
		f.Level, f.Text, f.ToDo = admin.LevelWarn, fmt.Sprintf("%s; %d got no answer", f.Text, w.Lost), "see the network, and whether it stalls"
	case bench.SlowMaster(all, i):
		f.Level, f.ToDo = admin.LevelWarn, "nearer, or on a faster machine; it decides nothing as long as a majority is faster"
	}
	return f
}

// clock judges the clock of master i.
func clock(all []Master, i int) admin.Finding {
	c := all[i].Clock
	if c == nil {
		return admin.Finding{Level: admin.LevelUnknown, Check: "clock", Text: "not known: TIME is not permitted, or too few answers"}
	}
	f := admin.Finding{Level: admin.LevelOK, Check: "clock", Text: fmt.Sprintf("off by less than %d ppm, no step", driftWarn)}
	rate := fmt.Sprintf("%+.0f±%.0fppm", c.PPM, c.PPMError)
	switch least := math.Abs(c.PPM) - c.PPMError; {
	case c.JumpNs > int64(stepMost):
		f.Level, f.Text = admin.LevelWarn, fmt.Sprintf("stepped by %s: a step forward ends leases early", time.Duration(c.JumpNs).Round(time.Millisecond))
		f.ToDo = "let its time daemon slew, not step; look again for longer (--for 1m)"
	case least > driftFail:
		f.Level, f.Text, f.ToDo = admin.LevelFail, rate+": more than the engine allows for", "mend its clock, or raise Drift"
	case least > driftWarn:
		f.Level, f.Text, f.ToDo = admin.LevelWarn, rate, "see its time daemon"
	case c.PPMError > driftWarn:
		f.Level, f.Text, f.ToDo = admin.LevelUnknown, rate, "look for longer: --for 30s"
	}
	return f
}
