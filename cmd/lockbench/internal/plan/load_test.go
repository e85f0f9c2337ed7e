package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRunsOfReadersAndWritersShareTheNamesOfTheirSeed(t *testing.T) {
	prefix := func(args string) string {
		return planned(t, strings.Fields(args)...).KeyPrefix
	}
	readers := prefix("--op read-write:100 --seed 7 --procs 8")
	require.NotEmpty(t, readers)
	require.Equal(t, readers, prefix("--op read-write:0 --seed 7"))
	require.NotEqual(t, readers, prefix("--op read-write:0 --seed 8"))
	require.NotEqual(t, prefix("--op read-write:0"), prefix("--op read-write:0"), "a seed of its own")
	require.Empty(t, prefix("--seed 7"), "other runs share with nobody")
}
