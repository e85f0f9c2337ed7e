package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRawIsComparedWithByDefaultWhereItCanBe(t *testing.T) {
	for args, want := range map[string]bool{"": true, "--fault delay:1:1ms": true, "--fault stop:1": false, "--rate 100": false, "--op mix:extend=1": false, "--slo overlaps==0": false, "--slo failure_rate<1%": true} {
		p, err := declared(t, "muxlock,raw", strings.Fields(args)...).Plan("compare")
		require.NoError(t, err, args)
		require.Equal(t, want, slices.Contains(p.Impls, "raw"), args)
	}
}

func TestAnObjectiveOnOverlapsNeedsAnAudit(t *testing.T) {
	for args, want := range map[string]string{
		"--impl raw --slo overlaps==0":         "--slo overlaps==0 cannot be used with --impl raw, which is not audited",
		"--impl muxlock,raw --slo overlaps==0": "--slo overlaps==0 cannot be used with --impl raw, which is not audited",
		"--op hold --slo overlaps==0":          "--slo overlaps==0 needs an audit: --op hold has none",
	} {
		_, err := runFlags(t, strings.Fields(args)...).Plan("run")
		require.EqualError(t, err, want)
	}
}

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

func TestACrashNeedsMastersThatVoteForTheNewProcess(t *testing.T) {
	const crash = "--procs 2 --fault crash:2@1s "
	for args, want := range map[string]string{
		crash:                   "crash:2@1s: muxlock's new process would wait: these masters do not vote for it before they are 31.3s old (--fencing or --warmup 31s)",
		crash + "--warmup 30s":  "--warmup 31s",
		crash + "--max-ttl 20s": "--warmup 21s",
		crash + "--ttl 40s":     "--warmup 41s",
		crash + "--impl redsync-goredis,muxlock-single,muxlock --fencing": "muxlock-single's new process would wait: these masters do not vote for it before they are 31.3s old (--warmup 31s)",
		crash + "--warmup 31s":            "",
		crash + "--fencing":               "",
		crash + "--impl redsync-goredis":  "",
		"--procs 2 --fault pause:2@1s-2s": "",
	} {
		_, err := runFlags(t, strings.Fields(args)...).Plan("run")
		if want == "" {
			require.NoError(t, err, args)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}
