package output

import (
	"fmt"
	"slices"

	"muxlock/bench"
)

// Workload is what was run, in a few words each, but for the seed. What a sweep gives
// a value of its own in each setting is left out.
func Workload(doc Document) []string {
	c := doc.Config
	parts := []string{masters(c)}
	if doc.sweeps("masters") {
		parts[0] = "up to " + parts[0]
	}
	if doc.sweeps("rate") {
		c.Rate = 0
	}
	for _, p := range []struct{ flag, text string }{
		{"workers", workers(c)}, {"keys", "keys " + Keys(c)}, {"hold", fmt.Sprintf("hold %s", c.Hold)}, {"ttl", fmt.Sprintf("ttl %s", c.TTL)},
	} {
		if !doc.sweeps(p.flag) {
			parts = append(parts, p.text)
		}
	}
	return parts
}

// sweeps tells whether a flag has a value of its own in each setting.
func (d Document) sweeps(flag string) bool {
	return d.Sweep != nil && slices.ContainsFunc(d.Sweep.Params, func(p bench.SweepParam) bool { return p.Name == flag })
}

func masters(c Config) string {
	n := len(c.Masters)
	s := fmt.Sprintf("%d masters", n)
	if n == 1 {
		s = "1 master"
	}
	if c.Server != "" {
		return fmt.Sprintf("%s (%s, %s)", s, c.Target, c.Server)
	}
	return fmt.Sprintf("%s (%s)", s, c.Target)
}

func workers(c Config) string {
	s := fmt.Sprintf("%d workers", c.Workers)
	if c.Procs > 1 {
		s = fmt.Sprintf("%d processes x %d workers", c.Procs, c.Workers)
	}
	if c.Rate > 0 {
		arrivals := c.Arrivals
		if arrivals == "" {
			arrivals = bench.Poisson
		}
		return fmt.Sprintf("%s/s %s, at most %s", Number(c.Rate), arrivals, s)
	}
	return s
}

// Keys is how many lock names and how they are drawn.
func Keys(c Config) string {
	switch {
	case c.Op == bench.Hold:
		return fmt.Sprintf("%d to hold", c.Keys)
	case c.Dist == (bench.Dist{}):
		return "own"
	}
	return fmt.Sprintf("%d %s", c.Keys, c.Dist)
}
