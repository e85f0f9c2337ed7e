package advice

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A trial is long enough for some holds, or some renewals.
const (
	trialLeast  = 10 * time.Second
	trialHolds  = 20
	trialLeases = 2
)

// try is the command that runs the masters of the measurement under what is advised.
func (k *maker) try() string {
	c := k.out.Config
	args := append([]string{"lockbench", "run"}, k.Target...)
	add := func(flag, value string) { args = append(args, flag, value) }
	if k.Workers > 0 {
		add("--workers", strconv.Itoa(k.Workers))
	}
	add("--ttl", c.TTL.String())
	add("--master-timeout", c.MasterTimeout.String())
	trial := trialHolds * time.Duration(k.hold.Mean())
	switch {
	case c.Renew:
		add("--op", "hold")
		trial = trialLeases * c.TTL
	default:
		add("--hold", k.holdText)
		if k.ask.Rate > 0 { // of one name
			add("--rate", fmt.Sprintf("%g", k.ask.Rate))
			add("--keys", "1")
		}
	}
	add("--duration", max(trialLeast, trial).Round(time.Second).String())
	for i, arg := range args {
		args[i] = quoted(arg)
	}
	return strings.Join(args, " ")
}

// quoted is an argument as a shell takes it.
func quoted(arg string) string {
	if !strings.ContainsAny(arg, " \t\n()[]{}<>|&;$`*?!#~'\"\\") {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
