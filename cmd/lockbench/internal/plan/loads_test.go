package plan

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestPassingADefaultChangesNothing(t *testing.T) {
	want := planned(t, "--embedded", "1", "--seed", "1")
	runFlags(t).flags.VisitAll(func(flag *pflag.Flag) {
		if _, list := flag.Value.(pflag.SliceValue); list || flag.DefValue == "" || slices.Contains([]string{"embedded", "local", "masters", "new-masters", "arrivals", "rate", "seed"}, flag.Name) {
			return // given, they mean something
		}
		p := planned(t, "--embedded", "1", "--seed", "1", "--"+flag.Name+"="+flag.DefValue)
		require.Equal(t, want.Config, p.Config, flag.Name)
		require.Equal(t, want.Engine, p.Engine, flag.Name)
	})
}
