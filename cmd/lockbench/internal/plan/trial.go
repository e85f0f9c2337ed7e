package plan

import (
	"math"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/redlock"
)

// A trial lasts for a few times of what may be lost in it, and has locks enough to show that 1 % of them
// is not lost.
const (
	trialLeast = 10 * time.Second
	trialTimes = 3
	trialLocks = 2000
)

// Trial returns the command that tries the advice on the masters of the measurement, with names of its
// own. It draws holds as the user gives them, or as measured in the file. A fault of the measurement is in it
// if it lasted for the whole time. Trial returns "" if the advice has a larger Drift than the engine's
// default: run has that one alone.
func Trial(c result.Config, a *result.Advice, file string) string {
	if a.Config.Drift > redlock.DefaultDrift {
		return ""
	}
	var settings []setting
	add := func(flag, value string) { settings = append(settings, setting{flag, value}) }
	for _, fault := range c.Faults {
		if !strings.Contains(fault, "@") {
			add("fault", fault)
		}
	}
	for _, s := range settingsOf(c.Args) {
		if s.Flag == "server" {
			add(s.Flag, s.Value)
		}
	}
	if a.Config.Fencing {
		add("fencing", "true")
	}
	add("ttl", flagTime(a.Config.TTL))
	add("max-ttl", flagTime(a.Config.MaxTTL))
	add("master-timeout", flagTime(a.Config.MasterTimeout))
	if a.Config.RetrySplit > 0 {
		add("retry-split", flagTime(a.Config.RetrySplit))
	}
	length := max(trialLeast, trialTimes*min(a.Needed, a.Config.TTL))
	if a.Config.Renew {
		length = max(trialLeast, trialTimes*a.Config.TTL)
		add("op", "hold")
	} else {
		if c.Op != bench.AcquireRelease && c.Op != bench.Hold {
			add("op", c.Op.String())
		}
		cycle := a.MeanHold + 3*a.Trip // two round trips of an acquire, and a release
		add("workers", strconv.Itoa(int(math.Ceil(trialLocks*cycle.Seconds()/length.Seconds()))))
		hold := "file:" + file
		if a.Ask.Hold != nil {
			hold = a.Ask.Hold.String()
		}
		add("hold", hold)
	}
	add("slo", "lost_validity_rate<=1%")
	add("duration", flagTime((length + time.Second - 1).Truncate(time.Second)))
	return commandOf("run", &c, settings)
}

// flagTime writes a time for a flag, in one unit.
func flagTime(d time.Duration) string {
	if d >= time.Second {
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
	}
	return strings.Replace(d.String(), "µ", "u", 1)
}

// MaxTTL returns the MaxTTL in use in a measurement.
func MaxTTL(c result.Config) time.Duration {
	for _, s := range settingsOf(c.Args) {
		if ttl, err := time.ParseDuration(s.Value); s.Flag == "max-ttl" && err == nil {
			return ttl
		}
	}
	return max(redlock.DefaultMaxTTL, c.TTL)
}
