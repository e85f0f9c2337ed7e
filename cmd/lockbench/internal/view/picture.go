package view

import (
	"fmt"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// Picture is a document in one drawing: cycles a second of each implementation.
func Picture(doc result.Document) Bars {
	setting := strings.Join(workload(doc), ", ")
	b := Bars{Title: fmt.Sprintf("cycles a second: %s", setting)}
	for i, impl := range doc.Config.Impls {
		if rs := result.Of(doc.Results, impl); len(rs) > 0 {
			v, _ := bench.MustFigure("throughput").Median(rs)
			b.Rows = append(b.Rows, Bar{Label: impl, Color: i, Value: v, Text: units.Rate(v)})
		}
	}
	return b
}
