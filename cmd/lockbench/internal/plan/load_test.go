package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestRawIsComparedWithByDefaultWhereItCanBe(t *testing.T) {
	for args, want := range map[string]bool{"": true, "--fault delay:1:1ms": true, "--fault stop:1": false, "--rate 100": false, "--op extend": false} {
		var f Flags
		fs := pflag.NewFlagSet("compare", pflag.ContinueOnError)
		f.Declare(fs, "muxlock,raw", 5, "text")
		require.NoError(t, fs.Parse(strings.Fields(args)))
		p, err := f.Plan("compare", fs)
		require.NoError(t, err, args)
		require.Equal(t, want, slices.Contains(p.Impls, "raw"), args)
		require.Equal(t, want, strings.Contains(p.Args[0], "raw"), p.Args)
	}
}

func TestRunsOfReadersAndWritersShareTheNamesOfTheirSeed(t *testing.T) {
	prefix := func(args string) string {
		fs, f := runFlags(t, strings.Fields(args)...)
		p, err := f.Plan("run", fs)
		require.NoError(t, err)
		return p.Load.KeyPrefix
	}
	readers := prefix("--op read-write:100 --seed 7 --procs 8")
	require.NotEmpty(t, readers)
	require.Equal(t, readers, prefix("--op read-write:0 --seed 7"))
	require.NotEqual(t, readers, prefix("--op read-write:0 --seed 8"))
	require.NotEqual(t, prefix("--op read-write:0"), prefix("--op read-write:0"), "a seed of its own")
	require.Empty(t, prefix("--seed 7"), "other runs share with nobody")
}
