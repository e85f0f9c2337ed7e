package plan

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

func compareFlags(t *testing.T, args ...string) *Flags {
	t.Helper()
	return declared(t, "muxlock,redislock,raw", append(args, "--embedded", "1")...)
}

func TestAComparisonHasContentionUnlessALoadIsDescribed(t *testing.T) {
	p, err := compareFlags(t, "--ttl", "3s").Loads("compare")
	require.NoError(t, err)
	require.Len(t, p.All(), 3)
	own, lone, one := p.Each[0], p.Each[1], p.Each[2]
	require.Equal(t, bench.Dist{}, own.Dist)
	require.Equal(t, 1, lone.Workers)
	require.Equal(t, bench.Dist{}, lone.Dist)
	require.Equal(t, []any{bench.Uniform(), 1, 4, 4}, []any{one.Dist, one.Keys, one.Procs, one.Workers})
	require.Equal(t, string(result.OneName), one.Setting[result.LoadSetting])
	for _, p := range p.Each {
		require.Equal(t, p == own, slices.Contains(p.Impls, "raw"))
		require.Equal(t, own.Seed, p.Seed)
	}

	requireTheSame(t, p)

	for _, args := range [][]string{{"--workers", "64"}, {"--keys", "1"}, {"--rate", "5", "--impl", "muxlock"}, {"--hold", "1ms"}} {
		p, err := compareFlags(t, args...).Loads("compare")
		require.NoError(t, err)
		require.Equal(t, []*Plan{p}, p.All(), args)
		requireTheSame(t, p)
	}
}

func TestTimesThatAreGivenAreThoseOfEveryLoad(t *testing.T) {
	p, err := compareFlags(t, "--duration", "7s").Loads("compare")
	require.NoError(t, err)
	warmups := map[string]bool{}
	for _, p := range p.Each {
		require.Equal(t, "7s", p.Duration.String())
		warmups[p.Warmup.String()] = true
	}
	require.Len(t, warmups, 3)
	require.Contains(t, requireTheSame(t, p), "--duration 7s")
}

// requireTheSame returns the line that repeats a comparison, which makes the same loads. So does --config.
func requireTheSame(t *testing.T, p *Plan) string {
	doc, flags := documentOf(p, "muxlock,redislock,raw")
	line := Again(doc, flags)
	kept := filepath.Join(t.TempDir(), "kept.json")
	file, err := os.Create(kept)
	require.NoError(t, err)
	require.NoError(t, result.JSON(file, doc))
	require.NoError(t, file.Close())
	for _, args := range [][]string{wordsOf(line), {"--config", kept}} {
		again, err := declared(t, "muxlock,redislock,raw", args...).Loads("compare")
		require.NoError(t, err)
		require.Len(t, again.All(), len(p.All()), args)
		for i, one := range p.All() {
			require.Equal(t, one.Config, again.All()[i].Config, args)
		}
	}
	return line
}

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

func TestAnImplementationBesideItselfHasTwoNames(t *testing.T) {
	p, err := compareFlags(t, "--impl", "muxlock,muxlock,raw,muxlock", "--workers", "2").Loads("compare")
	require.NoError(t, err)
	require.Equal(t, []string{"muxlock", "muxlock#2", "raw", "muxlock#3"}, p.Impls)
	require.Equal(t, "muxlock", p.Reference)
}
