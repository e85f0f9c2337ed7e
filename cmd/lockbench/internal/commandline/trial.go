package commandline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

// A trial is long enough for several holds or renewals. It is also long enough for the
// acquisitions that show the advised share of lost locks, if that share is not tiny.
const (
	trialLeast  = 10 * time.Second
	trialMost   = 2 * time.Minute
	trialHolds  = 20
	trialLeases = 2
	leastLimit  = 1e-4 // least share of lost locks that a trial shows
)

// loadFlags are the flags that a trial takes from the load of the measurement.
var loadFlags = []string{"workers", "procs", "keys", "dist", "think", "rate", "arrivals", "fencing"}

// Trial returns the command that tries the advice, on the masters and under the load of the
// measurement.
func Trial(c result.Config, a *result.Advice) string {
	var settings []Setting
	add := func(flag, value string) { settings = append(settings, Setting{flag, value}) }
	for _, fault := range c.Faults {
		add("fault", fault)
	}
	for _, s := range Settings(c.Args) {
		usual := s.Value == "own" || s.Flag == "procs" && s.Value == "1"
		if slices.Contains(loadFlags, s.Flag) && !usual && !(a.Config.Renew && s.Flag != "workers" && s.Flag != "procs") {
			add(s.Flag, s.Value)
		}
	}
	add("ttl", flagTime(a.Config.TTL))
	add("max-ttl", flagTime(a.Config.MaxTTL))
	add("master-timeout", flagTime(a.Config.MasterTimeout))
	add("retry-held", flagTime(a.Config.RetryHeld))
	add("retry-split", flagTime(a.Config.RetrySplit))
	length := trialLeases * a.Config.TTL
	if a.Config.Renew {
		add("op", "hold")
		add("slo", "failure_rate==0%")
	} else {
		hold := cmp.Or(c.Hold, bench.Exp(a.MeanHold))
		if a.Ask.Hold != nil {
			hold = *a.Ask.Hold
		}
		length = trialHolds * hold.Mean()
		add("hold", hold.String())
		add("slo", "lost_validity_rate<="+strconv.FormatFloat(100*max(a.Lost, a.Ask.Eps, leastLimit), 'g', 2, 64)+"%")
	}
	add("duration", flagTime(min(max(trialLeast, length), trialMost).Round(time.Second)))
	return commandOf("run", &c, settings)
}

// flagTime writes a time for a flag, in one unit.
func flagTime(d time.Duration) string {
	if d >= time.Second {
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
	}
	return strings.Replace(d.String(), "µ", "u", 1)
}
