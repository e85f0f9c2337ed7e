package validation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"muxlock/bench"
)

// Options of Run.
type Options struct {
	Cases []string // names; none: all of them
	// Seed fixes what the cases draw: holds, pauses and arrivals. What the delays on the
	// way to the masters draw is new each time.
	Seed uint64
	// Length is how long a setting is measured, or some times that where little happens
	// in a second.
	Length time.Duration
	// Progress is notified of each setting before it begins and of each check; check is nil
	// in the first case. It is called by Run itself.
	Progress func(setting string, check *Check)
}

// A scenario is one thing to be held against what happens: its settings, in turn.
type scenario struct {
	name     string
	settings []setting
}

// setting is one measurement and the checks that it allows.
type setting struct {
	name    string
	longer  float64 // times Options.Length
	measure func(ctx context.Context, o Options) ([]Check, error)
}

var all = []scenario{
	{"quorum", quorumSettings},
	{"expiry", expirySettings},
	{"split", splitSettings},
	{"gap", gapSettings},
	{"queue", queueSettings},
	{"closed", closedSettings},
	{"advice", hazardSettings},
	{"outage", outageSettings},
}

// Names of the cases, in the order in which they run.
func Names() (names []string) {
	for _, c := range all {
		names = append(names, c.name)
	}
	return names
}

// Known returns what is wrong with names of cases.
func Known(names []string) error {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("%q is not one of %s", name, strings.Join(Names(), ", "))
		}
	}
	return nil
}

// Run measures and judges. It returns what it has so far also beside an error, and blocks
// until all is measured or ctx ends.
func Run(ctx context.Context, o Options) ([]Check, error) {
	checks := []Check{}
	for _, c := range all {
		if len(o.Cases) > 0 && !slices.Contains(o.Cases, c.name) {
			continue
		}
		for _, s := range c.settings {
			o.Progress(c.name+": "+s.name, nil)
			watch := bench.WatchStalls(time.Millisecond)
			of := o
			of.Length = time.Duration(s.longer * float64(o.Length))
			got, err := s.measure(ctx, of)
			stalls, _ := watch.End()
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return checks, fmt.Errorf("%s: %s: %w", c.name, s.name, err)
			}
			for _, check := range got {
				check.Case, check.Setting, check.StallP99Ns = c.name, s.name, stalls.Summary().P["99"]
				check = check.judge()
				o.Progress(c.name+": "+s.name, &check)
				checks = append(checks, check)
			}
		}
	}
	return checks, nil
}
