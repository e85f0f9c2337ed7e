package plan

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

func compareFlags(t *testing.T, args ...string) (*pflag.FlagSet, *Flags) {
	t.Helper()
	var f Flags
	fs := pflag.NewFlagSet("compare", pflag.ContinueOnError)
	f.Declare(fs, "muxlock,redislock,raw", 6, "text")
	require.NoError(t, fs.Parse(append(args, "--embedded", "1")))
	return fs, &f
}

func TestAComparisonHasContentionUnlessALoadIsDescribed(t *testing.T) {
	fs, f := compareFlags(t, "--ttl", "3s")
	p, err := f.Loads("compare", fs)
	require.NoError(t, err)
	require.Len(t, p.All(), 3)
	own, lone, one := p.Loads[0], p.Loads[1], p.Loads[2]
	require.Equal(t, bench.Dist{}, own.Load.Dist)
	require.Equal(t, 1, lone.Load.Workers)
	require.Equal(t, bench.Dist{}, lone.Load.Dist)
	require.Equal(t, []any{bench.Uniform(), 1, 4, 4}, []any{one.Load.Dist, one.Load.Keys, one.Load.Procs, one.Load.Workers})
	require.Equal(t, string(result.OneName), one.Setting[result.LoadSetting])
	for _, p := range p.Loads {
		require.Equal(t, p == own, slices.Contains(p.Impls, "raw"))
		require.Equal(t, own.Load.Seed, p.Load.Seed)
	}

	other, g := compareFlags(t)
	require.NoError(t, take(other, settingsOf(p.Args)))
	again, err := g.Loads("compare", other)
	require.NoError(t, err)
	require.Len(t, again.Loads, 3, p.Args)
	for i := range p.Loads {
		require.Equal(t, p.Loads[i].Load, again.Loads[i].Load)
	}

	for _, args := range [][]string{{"--workers", "64"}, {"--keys", "1"}, {"--rate", "5", "--impl", "muxlock"}, {"--hold", "1ms"}} {
		fs, f := compareFlags(t, args...)
		p, err := f.Loads("compare", fs)
		require.NoError(t, err)
		require.Equal(t, []*Plan{p}, p.All(), args)
	}
}

func TestTimesThatAreGivenAreThoseOfEveryLoad(t *testing.T) {
	fs, f := compareFlags(t, "--duration", "7s")
	p, err := f.Loads("compare", fs)
	require.NoError(t, err)
	warmups := map[string]bool{}
	for _, p := range p.Loads {
		require.Equal(t, "7s", p.Load.Duration.String())
		warmups[p.Load.Warmup.String()] = true
	}
	require.Len(t, warmups, 3)
	require.Contains(t, p.Args, "--duration=7s")
	require.NotContains(t, p.Args, "--workers=4")
}

func TestPassingADefaultChangesNothing(t *testing.T) {
	fs, f := runFlags(t, "--embedded", "1", "--seed", "1")
	want, err := f.Plan("run", fs)
	require.NoError(t, err)
	fs.VisitAll(func(flag *pflag.Flag) {
		if _, list := flag.Value.(pflag.SliceValue); list || flag.DefValue == "" || slices.Contains([]string{"embedded", "local", "masters", "new-masters", "arrivals", "rate", "seed"}, flag.Name) {
			return // given, they mean something
		}
		other, g := runFlags(t, "--embedded", "1", "--seed", "1", "--"+flag.Name+"="+flag.DefValue)
		p, err := g.Plan("run", other)
		require.NoError(t, err, flag.Name)
		require.Equal(t, want.Load, p.Load, flag.Name)
		require.Equal(t, want.Engine, p.Engine, flag.Name)
	})
}

func TestAnImplementationBesideItselfHasTwoNames(t *testing.T) {
	fs, f := compareFlags(t, "--impl", "muxlock,muxlock,raw,muxlock", "--workers", "2")
	p, err := f.Loads("compare", fs)
	require.NoError(t, err)
	require.Equal(t, []string{"muxlock", "muxlock#2", "raw", "muxlock#3"}, p.Impls)
	require.Equal(t, "muxlock", p.Reference)
	require.Contains(t, p.Args, "--impl=muxlock,muxlock,raw,muxlock")
	fs, f = compareFlags(t, "--impl", "muxlock#2")
	_, err = f.Loads("compare", fs)
	require.ErrorContains(t, err, "unknown")
}
