package plan

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/redlock"
)

// A trial lasts for several leases, so that a lock can be lost in it, and for the locks that show the
// advised share of lost ones: 3 over the share if none is lost, and twice as many if one is. Without a
// load of the user's it has as many workers as take them in trialMost.
const (
	trialLeast   = 10 * time.Second
	trialLeases  = 3
	trialLocks   = 1500 // least: a run with fewer has no p99, since its end cuts some off
	leastLimit   = 1e-3 // least share of lost locks that a trial shows
	mostLimit    = 0.05 // unless --eps is larger: what is advised as more was not watched for long enough
	trialRate    = 600  // locks a second that any masters grant
	trialMost    = 2 * time.Minute
	trialWorkers = 64
)

// nameFlags are the flags that a trial takes from the load of the measurement if it holds locks as
// that load did. With other holds, callers would queue for names, or miss their rate.
var nameFlags = []string{"keys", "dist", "think", "rate", "arrivals"}

// Trial returns the command that tries the advice, on the masters and under the load of the
// measurement. The light load of advise counts as none, and a fault only if it lasted for the
// whole measurement. It returns "" if the advice has a larger Drift than the engine's default: run has
// that one alone.
func Trial(c result.Config, a *result.Advice) string {
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
	if c.Command == "advise" {
		c.Config, c.Args = bench.Config{Workers: trialWorkers}, nil
	}
	same := a.Hold.From == sizing.Seen && c.Hold.Mean() > 0 && c.Hold.Samples() == nil && c.Think.Samples() == nil && !a.Config.Renew
	hold := bench.Fixed(a.Hold.Took)
	if same {
		hold = c.Hold
	} else if a.Ask.Hold != nil {
		hold = *a.Ask.Hold
	}
	if hold.Mean() >= a.Config.TTL { // with a large --eps
		hold = bench.Fixed(a.Hold.Took)
	}
	limit := max(min(a.Lost, mostLimit), a.Ask.Eps, leastLimit)
	locks, perSecond, length := max(2*3/limit, trialLocks), float64(trialRate), max(trialLeast, trialLeases*a.Config.TTL)
	switch procs := max(c.Procs, 1); {
	case same:
		perSecond = float64(a.Hold.N) / a.Watched.Seconds()
	case !a.Config.Renew:
		each := (hold.Mean() + 3*a.Trip).Seconds() // two round trips of an acquire, and a release
		c.Workers = max(c.Workers, int(locks*each/max(trialMost, length).Seconds())/procs+1)
		perSecond = float64(c.Workers*procs) / each
	}
	length = max(length, time.Duration(locks/min(perSecond, trialRate)*1e9))

	add("workers", strconv.Itoa(c.Workers))
	for _, s := range settingsOf(c.Args) {
		if s.Flag == "server" || s.Flag == "procs" && s.Value != "1" || same && slices.Contains(nameFlags, s.Flag) && s.Value != "own" {
			add(s.Flag, s.Value)
		}
	}
	if a.Config.Fencing {
		add("fencing", "true")
	}
	add("ttl", flagTime(a.Config.TTL))
	add("max-ttl", flagTime(a.Config.MaxTTL))
	add("master-timeout", flagTime(a.Config.MasterTimeout))
	add("retry-held", flagTime(a.Config.RetryHeld))
	add("retry-split", flagTime(a.Config.RetrySplit))
	if a.Config.Renew {
		add("op", "hold")
		add("slo", "failure_rate==0%")
	} else {
		if c.Op != bench.AcquireRelease && c.Op != bench.Hold {
			add("op", c.Op.String())
		}
		add("hold", hold.String())
		percent := sizing.RoundUp(time.Duration(limit * 100e9)).Seconds()
		add("slo", "lost_validity_rate<="+strconv.FormatFloat(percent, 'f', -1, 64)+"%")
		if same && c.Dist != (bench.Dist{}) { // else implied: but who queues for a name may get no lock
			add("slo", "failure_rate<=100%")
			if c.Rate > 0 {
				add("slo", "goodput>=0%")
			}
		}
	}
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
