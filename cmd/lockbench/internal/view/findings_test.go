package view

import (
	"fmt"
	"strings"
	"testing"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
	"muxlock/internal/testing/golden"
)

func TestWhatSpeaksAgainstASettingIsShownOnceAndNamesIt(t *testing.T) {
	var doc result.Document
	for round := range 2 {
		for _, workers := range []string{"1", "8"} {
			r := resulttest.Result("a", 1+round, 1000)
			r.Setting = map[string]string{"workers": workers}
			if workers == "8" {
				r.Invalidate(bench.ReasonRate, "by "+string(rune('1'+round)))
				r.Invalidate(result.ReasonEmbedded, "")
				r.Totals.Outlived, r.Totals.LateQuorum = 50, 500
				r.ErrorSamples = []string{"acquire: closed\nat once"}
				r.Safety = bench.Safety{Overlaps: 1, FenceViolations: 1}
			}
			doc.Results = append(doc.Results, r)
		}
	}
	doc.Results[0].Invalidate(bench.ReasonNothing, "")
	doc.Results[2].Invalidate(bench.ReasonGenerator, "50%")
	var b Blocks
	b.warnings(doc)
	var text strings.Builder
	for _, block := range b {
		fmt.Fprintf(&text, "bad: %-5v  for a person: %-5v  %s\n", block.Bad, block.For == Person, block.Line)
	}
	golden.Equal(t, "warnings.txt", text.String())
}
