package admin

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline"
)

// healthy is a master with which nothing is wrong.
func healthy() facts {
	return facts{
		address: "a:1", host: "a", seen: pipeline.MasterStats{Up: true},
		info: map[string]string{
			"redis_version": "7.2.4", "run_id": "r1", "role": "master", "redis_mode": "standalone", "cluster_enabled": "0",
			"connected_slaves": "0", "maxmemory": "0", "maxmemory_policy": "noeviction",
			"aof_enabled": "1", "latest_fork_usec": "300",
		},
		config: map[string]string{
			"appendfsync": "always", "no-appendfsync-on-rewrite": "no", "timeout": "0", "maxclients": "10000",
			"client-output-buffer-limit": "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", "tracking-table-max-keys": "1000000",
		},
	}
}

// judged are the findings that are not OK, by their check.
func judged(found []Finding) map[string]Level {
	bad := map[string]Level{}
	for _, f := range found {
		if f.Level != LevelOK {
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
	refused := pipeline.MasterStats{Cause: errors.New("NOPERM")}
	for name, c := range map[string]struct {
		spoil func(*facts)
		want  map[string]Level
	}{
		"nothing":                     {set(), none},
		"it is away":                  {func(f *facts) { f.err = errors.New("refused") }, map[string]Level{"reachable": LevelFail}},
		"old":                         {set("redis_version", "5.0.7"), map[string]Level{"version": LevelWarn}},
		"no version":                  {set("redis_version", ""), map[string]Level{"version": LevelUnknown}},
		"valkey":                      {set("valkey_version", "8.0.1"), none},
		"replica":                     {set("role", "slave"), map[string]Level{"role": LevelFail}},
		"replica, and so not fit":     {func(f *facts) { set("role", "slave")(f); f.seen = refused }, map[string]Level{"role": LevelFail, "vote": LevelWarn}},
		"cluster":                     {set("cluster_enabled", "1"), map[string]Level{"role": LevelFail}},
		"sentinel":                    {set("redis_mode", "sentinel"), map[string]Level{"role": LevelFail}},
		"nobody":                      {set("run_id", ""), map[string]Level{"role": LevelFail}},
		"replicas":                    {set("connected_slaves", "2"), map[string]Level{"failover": LevelWarn}},
		"watched":                     {func(f *facts) { f.watchers = 3 }, map[string]Level{"failover": LevelWarn}},
		"watched, with replicas":      {func(f *facts) { set("connected_slaves", "1")(f); f.watchers = 3 }, map[string]Level{"failover": LevelFail}},
		"no PUBSUB":                   {func(f *facts) { f.watchers = -1 }, none},
		"evicts, no limit":            {set("maxmemory_policy", "allkeys-lru"), map[string]Level{"eviction": LevelWarn}},
		"evicts":                      {set("maxmemory_policy", "volatile-ttl", "maxmemory", "1000000"), map[string]Level{"eviction": LevelFail}},
		"reports no policy":           {set("maxmemory_policy", ""), map[string]Level{"eviction": LevelUnknown}},
		"cannot write":                {set("aof_last_write_status", "err"), map[string]Level{"persistence": LevelFail}},
		"slow fork":                   {set("latest_fork_usec", "25000"), map[string]Level{"persistence": LevelWarn}},
		"no CONFIG":                   {func(f *facts) { f.config = nil }, map[string]Level{"persistence": LevelUnknown, "limits": LevelUnknown}},
		"no CONFIG and none needed":   {func(f *facts) { f.config = nil; set("aof_enabled", "0")(f) }, map[string]Level{"limits": LevelUnknown}},
		"everysec":                    {func(f *facts) { f.config = map[string]string{"appendfsync": "everysec"} }, none},
		"it does not vote":            {func(f *facts) { f.seen.Cause = pipeline.ErrRestarted }, map[string]Level{"vote": LevelWarn}},
		"not admitted":                {func(f *facts) { f.seen = refused }, map[string]Level{"permissions": LevelFail, "vote": LevelWarn}},
		"no tracking":                 {func(f *facts) { f.tracking = errors.New("NOPERM") }, map[string]Level{"wake-ups": LevelWarn}},
		"slow commands":               {func(f *facts) { f.slow = slowlog{count: 1, longest: time.Second} }, map[string]Level{"slow commands": LevelWarn}},
		"slow commands not permitted": {func(f *facts) { f.slow.err = errors.New("NOPERM") }, map[string]Level{"slow commands": LevelUnknown}},
	} {
		f := healthy()
		c.spoil(&f)
		require.Equal(t, c.want, judged(ofMaster(f)), name)
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
	require.Empty(t, judged(ofSet(group([]string{"a", "b", "c"}, []string{"1", "2", "3"}))))

	found := ofSet(group([]string{"a", "b", "a"}, []string{"1", "1", "3"}))
	require.Equal(t, map[string]Level{"same server": LevelFail, "same machine": LevelWarn}, judged(found))
	for _, f := range found {
		switch f.Check {
		case "same server":
			require.Equal(t, []int{1, 2}, f.Masters)
		case "same machine":
			require.Equal(t, []int{1, 3}, f.Masters)
		}
	}
	require.Equal(t, map[string]Level{"how many": LevelWarn}, judged(ofSet(group([]string{"a"}, []string{"1"}))))
	require.Equal(t, map[string]Level{"how many": LevelWarn}, judged(ofSet(group([]string{"a", "b"}, []string{"1", "2"}))))
	require.Empty(t, judged(ofSet(group([]string{"a", "b", "c"}, []string{"", "", ""}))), "not reported is not the same")
}

func TestALevelThatIsNonePrintsItsNumber(t *testing.T) {
	for level, text := range map[Level]string{LevelOK: "OK", LevelFail: "FAIL", LevelFail + 1: "Level(4)", -1: "Level(-1)"} {
		require.Equal(t, text, fmt.Sprint(level))
		printed, err := level.MarshalJSON()
		require.NoError(t, err)
		require.JSONEq(t, `"`+text+`"`, string(printed))
	}
}

func TestFindingsThatSayTheSameAreOne(t *testing.T) {
	var r Report
	r.Add(Finding{LevelOK, "x", []int{1}, "fine", ""}, Finding{LevelWarn, "y", []int{1}, "bad", "do"}, Finding{LevelOK, "x", []int{2}, "fine", ""})
	r.Add(Finding{LevelWarn, "y", []int{3}, "bad", "do"}, Finding{LevelOK, "x", []int{4}, "other", ""}, Finding{LevelFail, "z", nil, "", ""})
	require.Equal(t, []Finding{
		{LevelOK, "x", []int{1, 2}, "fine", ""}, {LevelWarn, "y", []int{1, 3}, "bad", "do"}, {LevelOK, "x", []int{4}, "other", ""}, {LevelFail, "z", []int{}, "", ""},
	}, r.Findings)
	for want, masters := range map[string][]int{"-": {}, "3": {3}, "1,3": {1, 3}, "2-4": {2, 3, 4}, "all": {1, 2, 3, 4, 5}} {
		require.Equal(t, want, Finding{Masters: masters}.Who(5))
	}
	require.Equal(t, "1", Finding{Masters: []int{1}}.Who(1))
}

func TestAMasterIsDurableOnlyIfItSyncsDuringRewritesToo(t *testing.T) {
	for _, c := range []struct {
		aof            string
		config         map[string]string
		durable, known bool
	}{
		{"0", nil, false, true},
		{"1", nil, false, false},
		{"1", map[string]string{"appendfsync": "always"}, false, false},
		{"1", map[string]string{"appendfsync": "everysec", "no-appendfsync-on-rewrite": "no"}, false, true},
		{"1", map[string]string{"appendfsync": "always", "no-appendfsync-on-rewrite": "no"}, true, true},
		{"1", map[string]string{"appendfsync": "always", "no-appendfsync-on-rewrite": "yes"}, false, true},
	} {
		f := healthy()
		f.info["aof_enabled"], f.config = c.aof, c.config
		durable, known := f.durable()
		require.Equal(t, [2]bool{c.durable, c.known}, [2]bool{durable, known}, "%+v", c)
	}
}

func TestVoteIsJudgedByWhatTheEngineSees(t *testing.T) {
	for want, m := range map[Level]pipeline.MasterStats{
		LevelOK:   {Up: true},
		LevelWarn: {Up: true, Cause: pipeline.ErrRestarted},
		LevelFail: {Up: true, Cause: fmt.Errorf("%w: MaxTTL", pipeline.ErrConfigMismatch)},
	} {
		require.Equal(t, want, vote(m, false).Level)
		require.NoError(t, away(m))
	}
	require.Equal(t, LevelWarn, vote(pipeline.MasterStats{Cause: pipeline.ErrConfigMismatch}, false).Level)
	require.Equal(t, LevelFail, vote(pipeline.MasterStats{Up: true, Cause: pipeline.ErrMembersLost}, false).Level, "no time ends that")
	require.Error(t, away(pipeline.MasterStats{}))
}

func TestLimitsThatEndConnectionsOrForgetWaitersAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		config, info map[string]string
		want         string // in the finding; "": all is well
	}{
		"as a server is set up":   {nil, nil, ""},
		"closes idle ones soon":   {map[string]string{"timeout": "5"}, nil, "idle for 5 s"},
		"closes idle ones late":   {map[string]string{"timeout": "9"}, nil, ""},
		"nearly full":             {nil, map[string]string{"connected_clients": "9000"}, "9000 of at most 10000 clients"},
		"has room":                {nil, map[string]string{"connected_clients": "8999"}, ""},
		"small buffers":           {map[string]string{"client-output-buffer-limit": "normal 65536 0 0 slave 0 0 0 pubsub 0 0 0"}, nil, "closes normal connections with more than 65536 bytes"},
		"small buffers of lines":  {map[string]string{"client-output-buffer-limit": "normal 0 0 0 slave 0 0 0 pubsub 65536 0 0"}, nil, "closes pubsub connections"},
		"small ones for replicas": {map[string]string{"client-output-buffer-limit": "normal 0 0 0 slave 65536 0 0 pubsub 0 0 0"}, nil, ""},
		"a full table":            {map[string]string{"tracking-table-max-keys": "100"}, map[string]string{"tracking_total_keys": "100", "tracking_clients": "7"}, "100 of 100, by 7 clients"},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			maps.Copy(f.config, c.config)
			maps.Copy(f.info, c.info)
			found := f.limits()
			require.Len(t, found, 1)
			if c.want == "" {
				require.Equal(t, LevelOK, found[0].Level)
				return
			}
			require.Equal(t, LevelWarn, found[0].Level)
			require.Contains(t, found[0].Text, c.want)
			require.NotEmpty(t, found[0].ToDo)
		})
	}
}

func TestLimitsOfAServerThatDoesNotShowThemAreUnknown(t *testing.T) {
	f := healthy()
	f.config = map[string]string{}
	require.Equal(t, LevelUnknown, f.limits()[0].Level)
}
