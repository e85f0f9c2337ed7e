package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

// A trial is long enough for some holds, or some renewals, and for as many acquisitions as show
// that no more are lost than was said, where that is not for ever.
const (
	trialLeast  = 10 * time.Second
	trialMost   = 2 * time.Minute
	trialHolds  = 20
	trialLeases = 2
	leastLimit  = 1e-4 // of what is lost
)

// loadFlags is what a trial takes of the load of the measurement.
var loadFlags = []string{"workers", "procs", "keys", "dist", "think", "rate", "arrivals", "fencing"}

// trial is the command that runs what is advised, on the masters and under the load of the
// measurement.
func trial(c result.Config, a *result.Advice) string {
	words := []string{"lockbench", "run"}
	add := func(flag, value string) { words = append(words, "--"+flag, quoted(value)) }
	target := targetShown(c)
	add(target.flag, target.values[0])
	for _, fault := range c.Faults {
		add("fault", fault)
	}
	for _, s := range settingsOf(c.Args) {
		usual := s.values[0] == "own" || s.flag == "procs" && s.values[0] == "1"
		if slices.Contains(loadFlags, s.flag) && !usual && !(a.Config.Renew && s.flag != "workers" && s.flag != "procs") {
			add(s.flag, s.values[0])
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
	} else {
		hold := cmp.Or(c.Hold, bench.Exp(a.MeanHold))
		if a.Ask.Hold != nil {
			hold = *a.Ask.Hold
		}
		add("hold", hold.String())
		length = trialHolds * hold.Mean()
	}
	limit := strconv.FormatFloat(100*max(a.Lost, a.Ask.Eps, leastLimit), 'g', 2, 64) + "%"
	if a.Config.Renew {
		add("slo", "failure_rate==0%")
	} else {
		add("slo", "lost_validity_rate<="+limit)
	}
	add("duration", flagTime(min(max(trialLeast, length), trialMost).Round(time.Second)))
	return strings.Join(words, " ")
}

// flagTime is a time as a flag takes it, in one unit.
func flagTime(d time.Duration) string {
	if d >= time.Second {
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
	}
	return strings.Replace(d.String(), "µ", "u", 1)
}

// quoted is an argument as a shell takes it.
func quoted(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,:/@=+%", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
