package output

import (
	"fmt"
	"io"
	"text/tabwriter"

	"muxlock/bench"
)

// objectives writes how every result stood to what was asked of it.
func objectives(w io.Writer, doc Document) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range doc.Results {
		for _, s := range r.SLO {
			fmt.Fprint(tw, "SLO")
			if len(doc.Config.Impls) > 1 {
				fmt.Fprintf(tw, " %s", r.Impl)
			}
			if doc.Config.Rounds > 1 {
				fmt.Fprintf(tw, " round %d", r.Round)
			}
			fmt.Fprintf(tw, "\t%s\t%s\n", s.Text, stood(s))
		}
	}
	tw.Flush()
}

// stood is the measured value and the verdict.
func stood(s bench.SLO) string {
	switch {
	case s.Reason != "":
		return "-\tNOT JUDGED: " + s.Reason
	case s.Pass:
		return InUnit(s.Value, s.Unit) + "\tPASS"
	}
	return InUnit(s.Value, s.Unit) + "\tMISSED"
}

// InUnit is a figure for people: a unit that fits, three digits.
func InUnit(v float64, unit string) string {
	switch {
	case unit == bench.UnitNs:
		return duration(v)
	case unit == bench.UnitShare:
		return digits(100*v) + "%"
	case v >= 1000:
		return number(v)
	}
	return digits(v)
}
