package pipeline

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
	"muxlock/internal/serverinfo"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/pipeline/internal/membership"
)

// TestWhatRedisReportsOfADataSet holds the table of membership.Server against real servers, and
// the rule against each row.
func TestWhatRedisReportsOfADataSet(t *testing.T) {
	servers := redistest.MastersWith(t, 2, redisserver.Options{Args: []string{"--repl-diskless-sync-delay", "0", "--repl-backlog-ttl", "1"}})
	one, other := servers[0], servers[1]
	info := func(m *redisserver.Server) map[string]string {
		return serverinfo.Parse(redistest.Command(t, m, "INFO", "replication").(string) + redistest.Command(t, m, "INFO", "stats").(string))
	}
	until := func(m *redisserver.Server, condition func(map[string]string) bool, why string) {
		t.Helper()
		await.True(t, func() bool { return condition(info(m)) }, why)
	}
	replicaOf := func(m *redisserver.Server, address string) {
		host, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		redistest.Command(t, m, "REPLICAOF", host, port)
	}
	promote := func(m *redisserver.Server) { redistest.Command(t, m, "REPLICAOF", "NO", "ONE") }
	linked := func(i map[string]string) bool { return i["master_link_status"] == "up" }
	runID := serverinfo.Parse(redistest.Command(t, one, "INFO").(string))["run_id"]
	redistest.Command(t, one, "SET", "its own", "1")
	redistest.Command(t, other, "SET", "the other's", "1")

	// A step checks what is new in comparison with the one before.
	a, last, now := membership.Server{Wait: testWait, Trusted: true}, info(one), time.Now()
	last["run_id"] = runID
	a, err := a.Check(last, now, now)
	require.NoError(t, err)
	step := func(role string, newID bool, offset string, notVoting bool) {
		t.Helper()
		next := info(one)
		require.Equal(t, role, next["role"])
		require.Equal(t, newID, next["master_replid"] != last["master_replid"])
		require.Regexp(t, "^"+offset+"$", next["second_repl_offset"])
		require.Equal(t, runID, serverinfo.Parse(redistest.Command(t, one, "INFO").(string))["run_id"])
		now = now.Add(tickPeriod)
		b, err := a.Check(next, now, now)
		require.Equal(t, role != "master" || notVoting && !a.Replica, err != nil, "%v", err)
		require.Equal(t, notVoting, b.VotesFrom.After(now))
		late, _ := a.Check(next, now.Add(hour), now.Add(hour))
		require.Equal(t, notVoting, late.VotesFrom.After(now.Add(hour)), "after an idle time")
		if role == "master" {
			b.VotesFrom = time.Time{} // the wait is over
		}
		a, last = b, next
	}

	step("master", false, "-1", false)
	promote(one)
	step("master", false, "-1", false)
	replicaOf(other, one.Addr())
	until(other, linked, "a first replica connects")
	step("master", true, "-1", false)
	redistest.Command(t, other, "REPLICAOF", "127.0.0.1", "1")
	first := last["master_replid"]
	until(one, func(i map[string]string) bool { return i["master_replid"] != first }, "repl-backlog-ttl")
	step("master", true, "-1", false)

	promote(other)
	redistest.Command(t, other, "SET", "the other's", "1")
	redistest.Command(t, other, "DEL", "its own")
	replicaOf(one, other.Addr())
	until(one, linked, "it has the other's data")
	step("slave", true, "-1", false)
	promote(one)
	require.Equal(t, []string{"the other's"}, redistest.Keys(t, one))
	before := time.Now()
	step("master", true, `\d+`, true)
	until(one, func(i map[string]string) bool { return i["second_repl_offset"] == "-1" }, "repl-backlog-ttl")
	require.Greater(t, time.Since(before)+tickPeriod, membership.BacklogTTL)
	step("master", true, "-1", false)

	// There and back between two looks, and the trace is wiped out.
	replicaOf(one, other.Addr())
	until(one, linked, "it has the other's data")
	promote(one)
	until(one, func(i map[string]string) bool { return i["second_repl_offset"] == "-1" }, "repl-backlog-ttl")
	now = now.Add(membership.BacklogTTL)
	step("master", true, "-1", true)

	// There and back between two looks.
	replicaOf(one, other.Addr())
	until(one, linked, "it has the other's data")
	promote(one)
	step("master", true, `\d+`, true)

	replicaOf(one, "127.0.0.1:1")
	step("slave", false, `\d+`, false)
	require.False(t, strings.Contains(redistest.Command(t, one, "INFO", "replication").(string), "master_link_status:up"))
	promote(one)
	step("master", true, `\d+`, true)
}
