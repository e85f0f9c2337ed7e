package advice

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"muxlock/cmd/lockbench/internal/sizing"
)

// Budgets is pauses that a lease is to survive although a minute of measuring rarely meets
// one. Where what was measured does not reach as far as is asked for, they take its place.
type Budgets struct {
	Collector time.Duration `json:"collector_ns"`  // the holder's garbage collector
	PageCache time.Duration `json:"page_cache_ns"` // a page of the holder that must be read from a busy disk
	Migration time.Duration `json:"migration_ns"`  // the holder's virtual machine goes to another host
	Fork      time.Duration `json:"fork_ns"`       // a master makes a snapshot: one that no quorum can do without
}

// DefaultBudgets: Go stops the world for less than a millisecond and makes allocating
// goroutines help for some; a disk queue answers within tenths of a second; QEMU aims at
// 0.3 s of downtime and clouds state below a second; a fork takes 10 to 20 ms for each
// gigabyte.
var DefaultBudgets = Budgets{Collector: 10 * time.Millisecond, PageCache: 200 * time.Millisecond, Migration: 500 * time.Millisecond, Fork: 500 * time.Millisecond}

// Longest is the longest pause of a holder: two at once are rarer than is asked for.
func (b Budgets) Longest() time.Duration { return max(b.Collector, b.PageCache, b.Migration) }

func (b Budgets) longestName() string {
	name := map[time.Duration]string{b.Collector: "collector", b.PageCache: "page cache", b.Migration: "host migration"}[b.Longest()]
	return fmt.Sprintf("%s %s", name, span(b.Longest()))
}

// String is all of them, for people.
func (b Budgets) String() string {
	return fmt.Sprintf("collector %s, page cache %s, host migration %s, fork of a master %s", span(b.Collector), span(b.PageCache), span(b.Migration), span(b.Fork))
}

// slewing is which time daemons do with so many ppm, and which do not: one may make a
// master's clock faster while another makes the holder's slower.
func slewing(left float64) string {
	var fit, not []string
	for _, d := range sizing.TimeDaemons {
		if 2*d.SlewPPM <= left {
			fit = append(fit, d.Name)
		} else {
			not = append(not, fmt.Sprintf("%s (%.0f)", d.Name, d.SlewPPM))
		}
	}
	said := "more than two clocks can be slewed apart by " + strings.Join(fit, ", ")
	if len(fit) == 0 {
		said = "less than any of them can slew two clocks apart"
	}
	if len(not) > 0 && len(fit) > 0 {
		said += ", less than by " + strings.Join(not, ", ")
	}
	if slices.ContainsFunc(not, func(name string) bool { return strings.HasPrefix(name, "chrony") }) {
		said += "; chrony: maxslewrate 4000"
	}
	return said
}
