package output

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"muxlock/cmd/lockbench/internal/advice"
)

// Advise writes an advice for people.
func Advise(w io.Writer, a *advice.Advice) error {
	b := &buffer{}
	fmt.Fprintf(b, "%s on %d masters: at most %s of the acquisitions may lose validity, a crashed holder may block for %s\n",
		a.Impl, a.Masters, probability(a.Ask.Eps), Duration(float64(a.Ask.RTO)))
	if words := a.InWords(); words != "" {
		fmt.Fprintln(b, words)
	}

	fmt.Fprintln(b, "\nmeasured")
	table(b, func(w io.Writer) {
		fmt.Fprintln(w, "\tp50\tp99\tmax\tn\tfrom")
		for _, in := range a.Inputs {
			n := "-"
			if in.Count > 0 {
				n = Number(float64(in.Count))
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", in.Name, Duration(float64(in.P50)), Duration(float64(in.P99)), Duration(float64(in.Max)), n, in.From)
		}
	})
	for _, text := range a.TTL.Extrapolated {
		fmt.Fprintf(b, "  extrapolated  %s\n", text)
	}

	if a.TTL.Empty {
		fmt.Fprintf(b, "\nadvised: no TTL from %s to %s; renew\n", Duration(float64(a.TTL.Min)), Duration(float64(a.TTL.Max)))
	} else {
		fmt.Fprintf(b, "\nadvised: TTL from %s to %s, chosen %s\n", Duration(float64(a.TTL.Min)), Duration(float64(a.TTL.Max)), Duration(float64(a.Config.TTL)))
	}
	table(b, func(w io.Writer) {
		for _, s := range a.Settings {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, s.Value, s.Formula, s.Why)
		}
	})

	fmt.Fprintln(b, "\nto be expected")
	table(b, func(w io.Writer) {
		fmt.Fprintln(w, "\tprobability\t95% by samples alone\tn\tformula")
		for _, c := range a.Expected {
			p, interval, n := probability(c.P), "-", "-"
			if c.Extrapolated {
				p += " extrapolated"
			}
			if c.N > 0 {
				interval = probability(c.Lo) + " to " + probability(c.Hi)
				n = Number(float64(c.N))
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.Name, p, interval, n, c.Formula)
		}
	})

	if c := a.Check; c != nil {
		fmt.Fprintf(b, "  checked: %s\n", Checked(c))
	}

	fmt.Fprintln(b, "\nthe shortest TTL if")
	table(b, func(w io.Writer) {
		for _, c := range a.Sensitivity {
			sign, by := "+", float64(c.ByNs)
			if by < 0 {
				sign, by = "-", -by
			}
			fmt.Fprintf(w, "%s\t%s\t%s%s\t%s\n", c.What, Duration(float64(c.MinNs)), sign, Duration(by), c.Remark)
		}
	})

	if len(a.Warnings) > 0 {
		fmt.Fprintln(b)
	}
	for _, text := range a.Warnings {
		fmt.Fprintf(b, "WARNING %s\n", text)
	}
	fmt.Fprintf(b, "\n%s\n\ntry it: %s\njudge it: keep the advice with -o json --out advice.json, then lockbench run --check advice.json\n\n%s\n", a.Snippet, a.Try, a.Caveat)
	return b.flush(w)
}

// table lines up what write writes, a tab between columns.
func table(w io.Writer, write func(io.Writer)) {
	var lines strings.Builder
	tw := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	write(tw)
	tw.Flush()
	for line := range strings.Lines(lines.String()) {
		fmt.Fprintf(w, "  %s\n", strings.TrimRight(line, " \n"))
	}
}

// probability is two digits.
func probability(p float64) string {
	switch {
	case p == 0:
		return "0"
	case p <= 1e-12:
		return "<1e-12"
	}
	return fmt.Sprintf("%.2g", p)
}
