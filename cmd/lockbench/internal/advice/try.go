package advice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A trial is long enough for some holds, or some renewals, and in an open loop for the
// arrivals that a p99 needs, where that is not for ever.
const (
	trialLeast  = 10 * time.Second
	trialMost   = 2 * time.Minute
	trialOps    = 1100
	trialHolds  = 20
	trialLeases = 2
)

// loadFlags is what a trial takes of the load of the measurement; renewedFlags where
// leases are held for good.
var (
	loadFlags    = []string{"workers", "procs", "op", "keys", "dist", "think", "rate", "arrivals"}
	renewedFlags = []string{"workers", "procs"}
)

// trial is the user's own load under everything that is advised, as --name=value.
func (k *maker) trial() (args []string) {
	c := k.out.Config
	keep := loadFlags
	if c.Renew {
		keep = renewedFlags
	}
	busy := false // the load has a rate of its own
	for _, arg := range k.Load {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if slices.Contains(keep, name) {
			args = append(args, arg)
			busy = busy || name == "rate"
		}
	}
	add := func(flag, value string) { args = append(args, "--"+flag+"="+value) }
	if len(k.Load) == 0 && k.Workers > 0 {
		add("workers", strconv.Itoa(k.Workers))
		if k.Rate > 0 && !c.Renew && k.ask.Rate == 0 {
			add("rate", strconv.FormatFloat(k.Rate, 'g', -1, 64))
		}
	}
	add("ttl", flagTime(c.TTL))
	add("max-ttl", flagTime(c.MaxTTL))
	add("master-timeout", flagTime(c.MasterTimeout))
	add("drift", strconv.FormatFloat(c.Drift, 'g', -1, 64))
	add("retry-held", flagTime(c.RetryHeld))
	add("retry-split", flagTime(c.RetrySplit))
	if c.Fencing {
		args = append(args, "--fencing")
	}
	length := trialHolds * time.Duration(k.hold.Mean())
	switch {
	case c.Renew:
		add("op", "hold")
		length = trialLeases * c.TTL
	default:
		add("hold", k.holdText)
		if k.ask.Rate > 0 && !busy { // of one name
			add("rate", fmt.Sprintf("%g", k.ask.Rate))
			add("keys", "1")
			length = max(length, min(time.Duration(trialOps/k.ask.Rate*float64(time.Second)), trialMost))
		}
	}
	add("duration", flagTime(max(trialLeast, length).Round(time.Second)))
	return args
}

// flagTime is a time as a flag takes it, in one unit.
func flagTime(d time.Duration) string {
	if d >= time.Second {
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
	}
	return strings.Replace(d.String(), "µ", "u", 1)
}

// try is the command that makes the trial on the masters of the measurement.
func (k *maker) try() string {
	words := append([]string{"lockbench", "run"}, k.Target...)
	for _, arg := range k.out.Trial {
		words = append(words, strings.SplitN(arg, "=", 2)...)
	}
	for i, word := range words {
		words[i] = Quoted(word)
	}
	return strings.Join(words, " ")
}

// Quoted is an argument as a shell takes it.
func Quoted(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,:/@=+%", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// Prediction is a figure of the trial.
type Prediction struct {
	Figure    string  // as --slo names it
	Predicted float64 // ns or a share
	Limit     float64 // above it the prediction has failed
}

// Predictions is what a trial can be held against: what is lost, and how long an acquire
// takes, where slower figures are of the name of the acquire that nobody contends.
func (a *Advice) Predictions(acquire, percentile string) (all []Prediction) {
	for _, c := range a.Expected {
		figure := map[string]string{rollUp: "lost_validity_rate", lateQuorum: "late_quorum_rate"}[c.Formula]
		if figure != "" && !a.Config.Renew && !slices.ContainsFunc(all, func(p Prediction) bool { return p.Figure == figure }) {
			all = append(all, Prediction{figure, c.P, max(margin*c.P, a.Ask.Eps)})
		}
	}
	for _, in := range a.Inputs {
		if in.Name == "acquire" {
			p := float64(map[string]int64{"50": in.P50, "99": in.P99}[percentile])
			all = append(all, Prediction{acquire + ".p" + percentile, p, margin * p})
		}
	}
	return all
}
