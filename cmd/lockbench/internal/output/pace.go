package output

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"muxlock/bench"
)

// openTotals is how an open loop was served.
func openTotals(w io.Writer, t bench.Totals, c Config) {
	fmt.Fprintf(w, ", late %s", ofAll(t.Late, t.Offered))
	if c.DropAfter > 0 {
		fmt.Fprintf(w, ", dropped after %s %s", c.DropAfter, ofAll(t.Dropped, t.Offered))
	}
	// An error may be of a release, whose operation is among the acquired as well.
	if n := t.Started - t.Acquired - t.Refused - t.Timeouts; n > 0 && t.Errors == 0 {
		fmt.Fprintf(w, ", %s under way at the end", Number(float64(n)))
	}
}

// ofAll is a count and its share of all.
func ofAll(n, all int64) string {
	return fmt.Sprintf("%s (%s%%)", Number(float64(n)), Digits(100*float64(n)/float64(max(all, 1))))
}

// lagShown is the share of the response from which the generator's lag is remarked on.
const lagShown = 0.1

// clocks explains the rows of an open loop.
func clocks(w io.Writer, r *bench.Result, c Config) {
	if r.Latency.Wait == nil {
		return
	}
	if r.Totals.Late > 0 {
		fmt.Fprintln(w, "late: begun more than 1 ms after they were due, since no worker was free or the generator was late")
	}
	if r.Totals.Dropped > 0 {
		fmt.Fprintf(w, "dropped: never begun, since no worker was free within %s (--drop-after)\n", c.DropAfter)
	}
	fmt.Fprintln(w, "response = wait (due until begun by a worker) + service (begun until held); lag: what the generator itself adds to wait")
	if share := r.LagShare(); share > lagShown {
		fmt.Fprintf(w, "lag is %.0f%% of response at the p99: the load generator has too little of this machine\n", 100*share)
	}
}

// Remedy is what helps against a reason of a run that is not valid; empty: nothing that
// is known here.
func Remedy(reason string) string {
	if strings.HasPrefix(reason, bench.ReasonGenerator) {
		return "; what helps: fewer other programs, a lower --rate, a closed loop (no --rate), or another machine for the load"
	}
	return ""
}

// thin says what the tail would need.
func thin(w io.Writer, r *bench.Result) {
	var needs []string
	for _, p := range Percentiles {
		q, _ := strconv.ParseFloat(p, 64)
		if more := r.MoreSeconds(q); more > 0 {
			needs = append(needs, fmt.Sprintf("p%s needs %.0f s more", p, more))
		}
	}
	if len(needs) > 0 {
		fmt.Fprintf(w, "~ fewer than 10 operations lie beyond it: %s at this pace\n", strings.Join(needs, ", "))
	}
}

// steady says how a run ended that was to be steady.
func steady(w io.Writer, r *bench.Result, c Config) {
	switch {
	case r.Steady == nil:
	case r.Steady.Reached:
		fmt.Fprintf(w, "steady: ended after %.1fs, the last 7 seconds within %s%% of their mean\n", r.Steady.AfterS, Digits(100*c.Steady))
	default:
		fmt.Fprintf(w, "NOT STEADY: no 7 seconds in a row were within %s%% of their mean\n", Digits(100*c.Steady))
	}
}
