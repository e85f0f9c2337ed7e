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
	for _, reason := range []string{bench.ReasonOutage + ": 2s", bench.ReasonOutage + ": 3s", bench.ReasonNothing, result.EmbeddedReason} {
		results = append(results, &bench.Result{Valid: bench.Valid{Reasons: []string{reason}}})
	}
	require.False(t, b.reasons("x", results))
	require.Equal(t, Blocks{
		{Line: "NOT VALID x: nothing was acquired for a time: 2s (in 2 rounds)", Bad: true},
		{Line: "NOT VALID x: nothing was acquired", Bad: true},
	}, b)
	results[0].Valid.Reasons = append(results[0].Valid.Reasons, bench.ReasonGenerator+": 50%")
	require.True(t, b.reasons("x", results))
}
