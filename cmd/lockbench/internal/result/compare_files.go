package result

import (
	"fmt"
	"slices"
	"strings"
)

// Comparison is a later file beside an earlier one, as -o json has it. It holds no results,
// so that nobody takes it for one.
type Comparison struct {
	SchemaVersion int      `json:"schema_version"`
	Tool          Tool     `json:"tool"`
	Old           string   `json:"old"`
	New           string   `json:"new"`
	OldAlone      []string `json:"old_alone"` // flags and facts that are not the same in the other
	NewAlone      []string `json:"new_alone"`
	Limit         float64  `json:"regression_limit"`
	Rows          []Change `json:"comparison"` // of what both have; Reference is Old
}

// Change is one implementation at one setting.
type Change struct {
	Relative
	Regression string `json:"regression,omitempty"` // what became worse by more than the limit, and by more than chance
}

// CompareFiles takes the rounds of two files for pairs, by their numbers. limit is how much
// worse throughput, p50 or p99 may become: 0.05 is 5 %.
func CompareFiles(older, newer string, was, is *Document, limit float64) Comparison {
	c := Comparison{
		SchemaVersion: SchemaVersion, Tool: CurrentTool(), Old: older, New: newer, Limit: limit, Rows: []Change{},
		OldAlone: without(facts(was), facts(is)), NewAlone: without(facts(is), facts(was)),
	}
	names, before := finished(was.Results)
	_, after := finished(is.Results)
	for _, name := range names {
		if after[name] == nil {
			continue
		}
		row := Change{Relative: relative(name, older, after[name], before[name])}
		for _, f := range []struct {
			name  string
			ratio *Ratio
			more  bool
		}{{"throughput", row.Throughput, true}, {"p50", row.P50, false}, {"p99", row.P99, false}} {
			if r := f.ratio; r != nil && r.Significant && (f.more && r.Median < 1-limit || !f.more && r.Median > 1+limit) {
				row.Regression = fmt.Sprintf("%s is %.3f times what it was", f.name, r.Median)
				break
			}
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// facts is what a comparison of figures should know of a document.
func facts(doc *Document) []string {
	args := slices.DeleteFunc(slices.Clone(doc.Config.Args), func(arg string) bool { return strings.HasPrefix(arg, "--seed=") })
	invalid := 0
	for _, r := range doc.Results {
		if !r.Valid.OK {
			invalid++
		}
	}
	return append(args, fmt.Sprintf("%d masters (%s)", len(doc.Config.Masters), doc.Config.Server), "host "+doc.Env.Host,
		fmt.Sprintf("%d processors", doc.Env.CPUs), doc.Tool.Go, fmt.Sprintf("%d results not valid", invalid))
}

func without(all, others []string) []string {
	return notNil(slices.DeleteFunc(all, func(s string) bool { return slices.Contains(others, s) }))
}
