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
	require.False(t, b.reasons("x", results))
	require.Equal(t, Blocks{
		{Line: "NOT VALID x: nothing was acquired for a time: 2s (in 2 rounds)", Bad: true},
		{Line: "NOT VALID x: nothing was acquired", Bad: true},
	}, b)
	results[0].Valid.Reasons = append(results[0].Valid.Reasons, bench.Reason{Kind: bench.ReasonGenerator, Detail: "50%"})
	require.True(t, b.reasons("x", results))
}
