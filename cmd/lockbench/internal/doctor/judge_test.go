package doctor

import (
	"errors"
	"maps"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

// healthy is a master with which nothing is wrong.
func healthy() facts {
	return facts{
		addr: "a:1", host: "a",
		info: map[string]string{
			"redis_version": "7.2.4", "run_id": "r1", "role": "master", "redis_mode": "standalone", "cluster_enabled": "0",
			"connected_slaves": "0", "maxmemory": "0", "maxmemory_policy": "noeviction", "uptime_in_seconds": "86400",
			"aof_enabled": "1", "latest_fork_usec": "300",
		},
		config: map[string]string{"appendfsync": "always", "save": ""},
	}
}

// judged are the findings that are not OK, by their check.
func judged(found []Finding) map[string]Level {
	bad := map[string]Level{}
	for _, f := range found {
		if f.Level != OK {
			bad[f.Check] = f.Level
		}
	}
	return bad
}

func TestEachThingThatIsWrongWithAMasterIsFoundAndNothingElse(t *testing.T) {
	set := func(pairs ...string) func(*facts) {
		return func(f *facts) {
			f.info = maps.Clone(f.info)
			for i := 0; i < len(pairs); i += 2 {
				f.info[pairs[i]] = pairs[i+1]
			}
		}
	}
	none := map[string]Level{}
	for name, c := range map[string]struct {
		spoil func(*facts)
		want  map[string]Level
	}{
		"nothing":                     {set(), none},
		"it is away":                  {func(f *facts) { f.err = errors.New("refused") }, map[string]Level{"reachable": Fail}},
		"old":                         {set("redis_version", "5.0.7"), map[string]Level{"version": Warn}},
		"no version":                  {set("redis_version", ""), map[string]Level{"version": Unknown}},
		"valkey":                      {set("valkey_version", "8.0.1"), none},
		"replica":                     {set("role", "slave"), map[string]Level{"role": Fail}},
		"replica, and so not fit":     {func(f *facts) { set("role", "slave")(f); f.trial = errors.New("is a slave") }, map[string]Level{"role": Fail}},
		"cluster":                     {set("cluster_enabled", "1"), map[string]Level{"role": Fail}},
		"sentinel":                    {set("redis_mode", "sentinel"), map[string]Level{"role": Fail}},
		"nobody":                      {set("run_id", ""), map[string]Level{"role": Fail}},
		"replicas":                    {set("connected_slaves", "2"), map[string]Level{"failover": Warn}},
		"watched":                     {func(f *facts) { f.watchers = 3 }, map[string]Level{"failover": Warn}},
		"watched, with replicas":      {func(f *facts) { set("connected_slaves", "1")(f); f.watchers = 3 }, map[string]Level{"failover": Fail}},
		"no PUBSUB":                   {func(f *facts) { f.watchers = -1 }, none},
		"evicts, no limit":            {set("maxmemory_policy", "allkeys-lru"), map[string]Level{"eviction": Warn}},
		"evicts":                      {set("maxmemory_policy", "volatile-ttl", "maxmemory", "1000000"), map[string]Level{"eviction": Fail}},
		"reports no policy":           {set("maxmemory_policy", ""), map[string]Level{"eviction": Unknown}},
		"cannot write":                {set("aof_last_write_status", "err"), map[string]Level{"persistence": Fail}},
		"slow fork":                   {set("latest_fork_usec", "25000"), map[string]Level{"persistence": Warn}},
		"no CONFIG":                   {func(f *facts) { f.config = nil }, map[string]Level{"persistence": Unknown}},
		"no CONFIG and none needed":   {func(f *facts) { f.config = nil; set("aof_enabled", "0")(f) }, none},
		"everysec":                    {func(f *facts) { f.config = map[string]string{"appendfsync": "everysec"} }, none},
		"young":                       {set("uptime_in_seconds", "31"), map[string]Level{"uptime": Warn}},
		"old enough":                  {set("uptime_in_seconds", "32"), none},
		"not admitted":                {func(f *facts) { f.trial = errors.New("NOPERM") }, map[string]Level{"permissions": Fail}},
		"no tracking":                 {func(f *facts) { f.tracking = errors.New("NOPERM") }, map[string]Level{"wake-ups": Warn}},
		"slow commands":               {func(f *facts) { f.slow = slowlog{count: 1, longest: time.Second} }, map[string]Level{"slow commands": Warn}},
		"slow commands not permitted": {func(f *facts) { f.slow.err = errors.New("NOPERM") }, map[string]Level{"slow commands": Unknown}},
	} {
		f := healthy()
		c.spoil(&f)
		require.Equal(t, c.want, judged(judgeMaster(f, 31300*time.Millisecond)), name)
	}
}

func TestMastersThatAreTheSameAreFound(t *testing.T) {
	group := func(hosts, ids []string) (masters []facts) {
		for i := range hosts {
			f := healthy()
			f.host, f.info = hosts[i], map[string]string{"run_id": ids[i]}
			masters = append(masters, f)
		}
		return masters
	}
	require.Empty(t, judged(judgeSet(group([]string{"a", "b", "c"}, []string{"1", "2", "3"}))))

	found := judgeSet(group([]string{"a", "b", "a"}, []string{"1", "1", "3"}))
	require.Equal(t, map[string]Level{"same server": Fail, "same machine": Warn}, judged(found))
	for _, f := range found {
		switch f.Check {
		case "same server":
			require.Equal(t, []int{1, 2}, f.Masters)
		case "same machine":
			require.Equal(t, []int{1, 3}, f.Masters)
		}
	}
	require.Equal(t, map[string]Level{"how many": Warn}, judged(judgeSet(group([]string{"a"}, []string{"1"}))))
	require.Equal(t, map[string]Level{"how many": Warn}, judged(judgeSet(group([]string{"a", "b"}, []string{"1", "2"}))))
	require.Empty(t, judged(judgeSet(group([]string{"a", "b", "c"}, []string{"", "", ""}))), "not reported is not the same")
}

func TestRoundTripsAndClocksAreJudged(t *testing.T) {
	master := func(p50 int64, lost int64, c *bench.Clock) bench.Master {
		return bench.Master{RTT: &bench.Summary{Count: 100, P: map[string]int64{"50": p50, "99": 2 * p50}}, Lost: lost, Clock: c}
	}
	good := &bench.Clock{PPM: 20, PPMError: 30}
	none := map[string]Level{}
	for name, c := range map[string]struct {
		bench.Master
		want map[string]Level
	}{
		"good":          {master(100_000, 0, good), none},
		"slow":          {master(210_000, 0, good), map[string]Level{"round trip": Warn}},
		"loses":         {master(100_000, 1, good), map[string]Level{"round trip": Warn}},
		"no clock":      {master(100_000, 0, nil), map[string]Level{"clock": Unknown}},
		"not seen well": {master(100_000, 0, &bench.Clock{PPM: 300, PPMError: 900}), map[string]Level{"clock": Unknown}},
		"drifts":        {master(100_000, 0, &bench.Clock{PPM: -600, PPMError: 30}), map[string]Level{"clock": Warn}},
		"drifts away":   {master(100_000, 0, &bench.Clock{PPM: 12_000, PPMError: 900}), map[string]Level{"clock": Fail}},
		"steps":         {master(100_000, 0, &bench.Clock{JumpNs: 20_000_000}), map[string]Level{"clock": Warn}},
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
	require.Equal(t, map[string]Level{"huge pages": Warn}, judged(machine(good, 0, true)))
	require.Equal(t, map[string]Level{"clock source": Unknown, "time daemon": Unknown}, judged(machine(fstest.MapFS{}, 0, true)))
	bad := fstest.MapFS{clocks: file("hpet\n"), "proc/1/comm": file("init\n"), "proc/88/comm": file("chronyd\n"), "sys/fs/cgroup/cpu/cpu.stat": file("nr_periods 9\nnr_throttled 17\n")}
	require.Equal(t, map[string]Level{"clock source": Warn, "processors": Warn, "suspend": Warn, "time daemon": Warn}, judged(machine(bad, time.Hour, true)))
}

func TestDriftIsJudgedByTheTimeDaemonThatRuns(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, c := range []struct {
		comm, conf string
		level      Level
		text       string
	}{
		{"chronyd", "", Warn, "chrony may slew the clock here by 83333 ppm"},
		{"chronyd", "# maxslewrate 100\nmakestep 1 3\n", Warn, "83333"},
		{"chronyd", "pool a\nmaxslewrate 4000\n", OK, "4000 ppm"},
		{"systemd-timesyn", "", Warn, "50000 ppm"},
		{"ntpd", "", OK, "1000 ppm"},
		{"sh", "", Unknown, "none is seen here"},
	} {
		found := timeDaemon(fstest.MapFS{"proc/12/comm": file(c.comm + "\n"), "etc/chrony/chrony.conf": file(c.conf)})
		require.Equal(t, c.level, found.Level, "%+v", c)
		require.Contains(t, found.Text, c.text)
	}
}

func TestFindingsThatSayTheSameAreOne(t *testing.T) {
	found := grouped([]Finding{
		{OK, "x", []int{1}, "fine", ""}, {Warn, "y", []int{1}, "bad", "do"}, {OK, "x", []int{2}, "fine", ""},
		{Warn, "y", []int{3}, "bad", "do"}, {OK, "x", []int{4}, "other", ""}, {Fail, "z", nil, "", ""},
	})
	require.Equal(t, []Finding{
		{OK, "x", []int{1, 2}, "fine", ""}, {Warn, "y", []int{1, 3}, "bad", "do"}, {OK, "x", []int{4}, "other", ""}, {Fail, "z", []int{}, "", ""},
	}, found)
	require.Equal(t, Fail, Worst(found))
	require.Equal(t, OK, Worst(nil))
	for want, masters := range map[string][]int{"-": {}, "3": {3}, "1,3": {1, 3}, "2-4": {2, 3, 4}, "all": {1, 2, 3, 4, 5}} {
		require.Equal(t, want, Finding{Masters: masters}.Who(5))
	}
	require.Equal(t, "1", Finding{Masters: []int{1}}.Who(1))
}
