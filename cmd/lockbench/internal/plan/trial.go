package plan

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
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
// if it lasted for the whole time.
func Trial(c result.Config, a *result.Advice, file string) string {
	var settings []setting
	add := func(flag, value string) { settings = append(settings, setting{flag, value}) }
	for _, fault := range c.Faults {
		if !strings.Contains(fault, "@") {
			add("fault", fault)
		}
	}
	for _, program := range c.Programs {
		add("server", program)
	}
	if a.Config.Fencing {
		add("fencing", "true")
	}
	add("ttl", units.Exact(a.Config.TTL))
	add("max-ttl", units.Exact(a.Config.MaxTTL))
	add("master-timeout", units.Exact(a.Config.MasterTimeout))
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
	add("duration", units.Exact((length + time.Second - 1).Truncate(time.Second)))
	return commandOf("run", &c, settings)
}

// MaxTTL returns the MaxTTL in use in a measurement.
func MaxTTL(s result.Settings) time.Duration {
	return cmp.Or(s.MaxTTL, max(redlock.DefaultMaxTTL, s.TTL))
}
