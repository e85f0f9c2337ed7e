package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/output"
)

// Report is the whole comparison, as -o json has it. It holds no results, so that
// nobody takes it for one.
type Report struct {
	SchemaVersion int        `json:"schema_version"`
	Tool          bench.Tool `json:"tool"`
	Files         []File     `json:"files"` // the first is what the others are compared with
	Limit         float64    `json:"regression_limit"`
	Comparison    []Row      `json:"comparison"`
}

// File is one of the compared ones.
type File struct {
	Name      string     `json:"name"`
	Tool      bench.Tool `json:"tool"`
	Host      string     `json:"host"`
	NotValid  int        `json:"not_valid"` // results that say so of themselves
	Unmatched []string   `json:"unmatched"` // implementations that are not in the first file
	Differ    []Setting  `json:"differ"`    // what was different from the first file, beside the figures
}

// New compares the documents with the first one.
func New(names []string, docs []*output.Document, limit float64) Report {
	r := Report{SchemaVersion: bench.SchemaVersion, Tool: bench.CurrentTool(), Limit: limit, Comparison: []Row{}}
	known := map[string]bool{}
	for _, impl := range Impls(docs[0].Results) {
		known[impl] = true
	}
	for i, doc := range docs {
		f := File{Name: names[i], Tool: doc.Tool, Host: doc.Env.Host, Unmatched: []string{}, Differ: []Setting{}}
		for _, result := range doc.Results {
			if !result.Valid.OK {
				f.NotValid++
			}
		}
		for _, impl := range Impls(doc.Results) {
			if !known[impl] {
				f.Unmatched = append(f.Unmatched, impl)
			}
		}
		f.Differ = append(f.Differ, Settings(docs[0], doc)...)
		r.Files = append(r.Files, f)
		if i > 0 {
			r.Comparison = append(r.Comparison, Rows(docs[0].Results, doc.Results, names[i], limit)...)
		}
	}
	return r
}

// Regressions is the rows that are one.
func (r Report) Regressions() (rows []Row) {
	for _, row := range r.Comparison {
		if row.Regression {
			rows = append(rows, row)
		}
	}
	return rows
}

// JSON writes it as one document.
func (r Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Text writes a table for each implementation and file.
func (r Report) Text(w io.Writer) error {
	var b bytes.Buffer
	for i, f := range r.Files {
		label := "old"
		if i > 0 {
			label = "new"
		}
		fmt.Fprintf(&b, "%s  %s", label, f.Name)
		if f.NotValid > 0 {
			fmt.Fprintf(&b, "   NOT VALID: %d of its results", f.NotValid)
		}
		fmt.Fprintln(&b)
		for _, s := range f.Differ {
			fmt.Fprintf(&b, "     other %s: %s, was %s\n", s.Name, s.New, s.Old)
		}
		for _, impl := range f.Unmatched {
			fmt.Fprintf(&b, "     %s is not in %s\n", impl, r.Files[0].Name)
		}
	}
	tw := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	last, few := "", false
	for _, row := range r.Comparison {
		if title := row.Impl + "   " + row.File; title != last {
			tw.Flush()
			fmt.Fprintf(&b, "\n%s\n", title)
			fmt.Fprintln(tw, "\told\tnew\tnew/old\t95 % interval\tp\tn\t")
			last = title
		}
		few = few || row.Verdict == TooFew
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%d+%d\t%s\n", row.Figure, value(row.Old, row), value(row.New, row),
			ratio(row), interval(row), probability(row), row.OldRounds, row.NewRounds, says(row))
	}
	tw.Flush()
	fmt.Fprintln(&b, "\nmedians over the rounds; ~ is no more than chance (Mann-Whitney, p >= 0.05)")
	if few {
		fmt.Fprintln(&b, "too few rounds: no difference could be told from chance; measure both with --rounds 5 or more")
	}
	_, err := w.Write(b.Bytes())
	return err
}

func value(v float64, row Row) string {
	if row.Verdict == Missing {
		return "-"
	}
	return output.InUnit(v, row.Unit)
}

func ratio(row Row) string {
	if row.Ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", row.Ratio)
}

func interval(row Row) string {
	if row.CI == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f..%.3f", row.CI[0], row.CI[1])
}

func probability(row Row) string {
	if row.P == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *row.P)
}

func says(row Row) string {
	if row.Regression {
		return row.Verdict + ", REGRESSION"
	}
	return row.Verdict
}
