package doctor

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/internal/findings"
	"muxlock/internal/serverinfo"
)

// judged are the findings that are not OK, by their check.
func judged(found []findings.Finding) map[string]findings.Level {
	bad := map[string]findings.Level{}
	for _, f := range found {
		if f.Level != findings.OK {
			bad[f.Check] = f.Level
		}
	}
	return bad
}

func TestRoundTripsAndClocksAreJudged(t *testing.T) {
	master := func(p50 int64, lost int64, c *bench.Clock) bench.Master {
		return bench.Master{RTT: &bench.Summary{Count: 100, P: map[string]int64{"50": p50, "99": 2 * p50}}, Lost: lost, Clock: c}
	}
	good := &bench.Clock{PPM: 20, PPMError: 30}
	none := map[string]findings.Level{}
	for name, c := range map[string]struct {
		bench.Master
		want map[string]findings.Level
	}{
		"good":          {master(100_000, 0, good), none},
		"slow":          {master(210_000, 0, good), map[string]findings.Level{"round trip": findings.Warn}},
		"loses":         {master(100_000, 1, good), map[string]findings.Level{"round trip": findings.Warn}},
		"no clock":      {master(100_000, 0, nil), map[string]findings.Level{"clock": findings.Unknown}},
		"not seen well": {master(100_000, 0, &bench.Clock{PPM: 300, PPMError: 900}), map[string]findings.Level{"clock": findings.Unknown}},
		"drifts":        {master(100_000, 0, &bench.Clock{PPM: -600, PPMError: 30}), map[string]findings.Level{"clock": findings.Warn}},
		"drifts away":   {master(100_000, 0, &bench.Clock{PPM: 12_000, PPMError: 900}), map[string]findings.Level{"clock": findings.Fail}},
		"steps":         {master(100_000, 0, &bench.Clock{JumpNs: 20_000_000}), map[string]findings.Level{"clock": findings.Warn}},
	} {
		others := []bench.Master{c.Master, master(100_000, 0, good), master(100_000, 0, good)}
		require.Equal(t, c.want, judged(judgeProbe(others, 0)), name)
	}
	require.Empty(t, judgeProbe([]bench.Master{{RTT: &bench.Summary{}}}, 0), "away, which is said elsewhere")
}

func TestThisMachineIsJudged(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const clocks, pages = "sys/devices/system/clocksource/clocksource0/current_clocksource", "sys/kernel/mm/transparent_hugepage/enabled"
	good := fstest.MapFS{clocks: file("tsc\n"), pages: file("[always] madvise never\n"), "sys/fs/cgroup/cpu.stat": file("usage_usec 5\nnr_throttled 0\n"), "proc/7/comm": file("ntpd\n")}
	require.Empty(t, judged(machine(good, 0, false)))
	require.Equal(t, map[string]findings.Level{"huge pages": findings.Warn}, judged(machine(good, 0, true)))
	require.Equal(t, map[string]findings.Level{"clock source": findings.Unknown, "time daemon": findings.Unknown}, judged(machine(fstest.MapFS{}, 0, true)))
	bad := fstest.MapFS{clocks: file("hpet\n"), "proc/1/comm": file("init\n"), "proc/88/comm": file("chronyd\n"), "sys/fs/cgroup/cpu/cpu.stat": file("nr_periods 9\nnr_throttled 17\n")}
	require.Equal(t, map[string]findings.Level{"clock source": findings.Warn, "processors": findings.Warn, "suspend": findings.Warn, "time daemon": findings.Warn}, judged(machine(bad, time.Hour, true)))
}

func TestDriftIsJudgedByTheTimeDaemonThatRuns(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, c := range []struct {
		comm, conf string
		level      findings.Level
		text       string
	}{
		{"chronyd", "", findings.Warn, "chrony may slew the clock here by 83333 ppm"},
		{"chronyd", "# maxslewrate 100\nmakestep 1 3\n", findings.Warn, "83333"},
		{"chronyd", "pool a\nmaxslewrate 4000\n", findings.OK, "4000 ppm"},
		{"systemd-timesyn", "", findings.Warn, "50000 ppm"},
		{"ntpd", "", findings.OK, "1000 ppm"},
		{"sh", "", findings.Unknown, "none is seen here"},
	} {
		found := timeDaemon(fstest.MapFS{"proc/12/comm": file(c.comm + "\n"), "etc/chrony/chrony.conf": file(c.conf)})
		require.Equal(t, c.level, found.Level, "%+v", c)
		require.Contains(t, found.Text, c.text)
	}
}

func TestYoungMasterDoesNotVoteUnlessItIsNew(t *testing.T) {
	const wait = 31300 * time.Millisecond
	up := func(seconds string) serverinfo.Info { return serverinfo.Info{"uptime_in_seconds": seconds} }
	require.Equal(t, findings.Warn, uptime(up("31"), wait).Level)
	require.Equal(t, findings.OK, uptime(up("32"), wait).Level)
	require.Equal(t, findings.OK, uptime(up("0"), 0).Level)
	require.Equal(t, findings.Unknown, uptime(nil, wait).Level)
}
