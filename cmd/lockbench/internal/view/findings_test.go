package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

func TestEachKindOfReasonIsShownOnce(t *testing.T) {
	var b Blocks
	var results []*bench.Result
	for _, reason := range []bench.Reason{
		{Kind: bench.ReasonOutage, Detail: "2s"}, {Kind: bench.ReasonOutage, Detail: "3s"}, {Kind: bench.ReasonNothing}, {Kind: result.ReasonEmbedded},
	} {
		results = append(results, &bench.Result{Valid: bench.Valid{Reasons: []bench.Reason{reason}}})
	}
	b.warnings(result.Document{Results: results})
	require.Equal(t, Blocks{
		{Line: "NOT VALID : nothing was acquired for a time: 2s (in 2 rounds)", Bad: true},
		{Line: "NOT VALID : nothing was acquired", Bad: true},
	}, b)
	results[0].Valid.Reasons = append(results[0].Valid.Reasons, bench.Reason{Kind: bench.ReasonGenerator, Detail: "50%"})
	b.warnings(result.Document{Results: results})
	require.Equal(t, Person, b[len(b)-1].For, "what helps")
}
