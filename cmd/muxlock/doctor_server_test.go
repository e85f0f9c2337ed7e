package main

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"muxlock/engine/admin"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

// examine returns doctor's findings that are not OK. It leaves out those that a short watch, or a shared or busy machine,
// may cause.
func examine(t *testing.T, masters, args string) (bad map[string]string) {
	t.Helper()
	var doc struct {
		SchemaVersion int `json:"schema_version"`
		Tool          struct{ Name string }
		Worst         string
		Findings      []struct {
			Level, Check, Text string
			Masters            []int
		}
		PerMaster []struct{ Addr string } `json:"per_master"`
	}
	stdout, stderr, code := bare.run(t, "doctor --for 100ms --master-timeout 2s -o json --masters "+masters+" "+args)
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc), stderr)
	require.Equal(t, 1, doc.SchemaVersion)
	require.Equal(t, "muxlock", doc.Tool.Name)
	require.Len(t, doc.PerMaster, strings.Count(masters, ",")+1)
	require.Equal(t, map[bool]int{true: exitRun}[doc.Worst == "FAIL"], code, stderr)
	bad = map[string]string{}
	for _, f := range doc.Findings {
		require.NotNil(t, f.Masters)
		require.NotRegexp(t, `MastersAreDurable|MaxTTL|muxlock: `, f.Text)
		if f.Level != "OK" {
			bad[f.Check] = f.Level
		}
	}
	for _, check := range []string{"same machine", "round trip", "clock", "processors", "slow commands"} {
		delete(bad, check)
	}
	return bad
}

func TestDoctorFindsGoodMastersGoodAndLeavesThemAsTheyWere(t *testing.T) {
	t.Parallel()
	servers := redistest.Masters(t, 3)
	addrs := strings.Join(redistest.Addrs(servers), ",")
	for args, want := range map[string]map[string]string{
		"--new-masters":                   {},
		"":                                {"vote": "WARN"}, // started just now
		"--new-masters --durable-masters": {"durable": "FAIL"},
		"--fencing":                       {"start": "FAIL", "vote": "FAIL"}, // they are not set up for it
	} {
		require.Equal(t, want, examine(t, addrs, args), args)
		require.Empty(t, redistest.Keys(t, servers...))
	}
}

func TestDoctorTellsWhatAnACLForbids(t *testing.T) {
	t.Parallel()
	server := redistest.MastersWith(t, 1, redisserver.Options{})[0]
	user := func(name string, rules ...string) string {
		redistest.Command(t, server, append([]string{"ACL", "SETUSER", name, "on", ">secret", "resetkeys", "~locks:*", "~__muxlock__:*",
			"+hello", "+ping", "+info", "+script|load", "+evalsha", "+set", "+get", "+del", "+pexpire", "+pttl", "+time",
			"+zadd", "+zrem", "+zrange", "+zrank", "+hset", "+hget", "+hdel", "+publish", "&__muxlock__:*"}, rules...)...)
		return "redis://" + name + ":secret@" + server.Addr()
	}
	for masters, want := range map[string]map[string]string{
		user("least", "+client|tracking", "+client|caching", "+subscribe"):  {"how many": "WARN", "limits": "?"},
		user("herd", "+client|tracking", "+client|caching"):                 {"how many": "WARN", "limits": "?", "lines": "WARN"},
		user("polls", "+subscribe"):                                         {"how many": "WARN", "limits": "?", "wake-ups": "WARN"},
		user("half", "+client|tracking", "+subscribe"):                      {"how many": "WARN", "limits": "?", "wake-ups": "WARN"},
		user("mute", "+client|tracking", "+client|caching", "-script|load"): {"how many": "WARN", "limits": "?", "start": "FAIL", "permissions": "FAIL", "vote": "WARN"},
	} {
		require.Equal(t, want, examine(t, masters, "--new-masters"), masters)
	}
}

func TestDoctorShowsWhatIsWorstFirstInFewColumnsAndNoPassword(t *testing.T) {
	t.Parallel()
	server := redistest.MastersWith(t, 1, redisserver.Options{Password: "pa55"})[0]
	addr := "redis://:pa55@" + server.Addr()
	stdout, stderr, code := bare.run(t, "doctor --for 50ms --master-timeout 2s --masters", addr+","+strings.Replace(addr, "127.0.0.1", "localhost", 1))
	require.Equal(t, exitRun, code)
	require.Equal(t, "muxlock: not fit to lock on, see FAIL\n", stderr)
	require.Regexp(t, ` FAIL same server all are one server .* -> name each server once `, strings.Join(strings.Fields(stdout), " "))
	require.Regexp(t, `\n\nFAIL `, stdout)
	require.NotRegexp(t, `(?s)\nOK .*\n(FAIL|WARN) `, stdout)
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 81, line)
	}
	require.Regexp(t, `\n\n[1-9]\d* FAIL, \d+ WARN, \d+ unknown, [1-9]\d* OK\n$`, stdout)
	require.Contains(t, stdout, "master 1: "+server.Addr())
	require.NotContains(t, stdout+stderr, "pa55")
}

func TestAQuotaThatStoppedThisContainerIsAWarning(t *testing.T) {
	stat := func(name, text string) admin.Level {
		return judgeProcessors(fstest.MapFS{name: &fstest.MapFile{Data: []byte(text)}}).Level
	}
	require.Equal(t, admin.LevelOK, stat("sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_throttled 0\n"))
	require.Equal(t, admin.LevelWarn, stat("sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_throttled 3\n"))
	require.Equal(t, admin.LevelWarn, stat("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 9\nnr_throttled 17\nthrottled_time 4\n"))
	require.Equal(t, admin.LevelOK, stat("etc/hosts", ""))
}
