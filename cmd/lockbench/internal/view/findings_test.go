package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
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
	bad := func(line string) Block { return Block{Line: line, Bad: true} }
	hint := func(line string) Block { return Block{Line: "  what helps: " + line, For: Person} }
	require.Equal(t, Blocks{
		bad("SAFETY VIOLATION a  workers=8: two held one lock: 1 times (in 2 rounds)"),
		bad("SAFETY VIOLATION a  workers=8: a fence was not larger than the one before: 1 times (in 2 rounds)"),
		bad("ERROR a  workers=8: acquire: closed; at once (in 2 rounds)"),
		bad("NOT VALID a  workers=1: nothing was acquired"),
		bad("NOT VALID a  workers=8: rate not met: by 1 (in 2 rounds)"),
		bad("NOT VALID a  workers=1: the generator could not keep up: 50%"),
		hint("fewer other programs, a lower --rate, a closed loop (no --rate), or another machine for the load"),
		bad("WARNING a  workers=8: locks outlasted their validity before they were released: 50 (10.0%) (in 2 rounds)"),
		bad("WARNING a  workers=8: quorums came too late to leave any validity: 500 (50.0%) (in 2 rounds)"),
		hint("a longer --ttl, or lockbench advise"),
	}, b)
}
