package doctor

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/internal/findings"
	"muxlock/internal/redisserver"
	"muxlock/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quick = Options{For: 100 * time.Millisecond, MaxTTL: 30 * time.Second, New: true}

// examine returns what is not OK, but for what a short look, a shared machine and a busy
// one bring about.
func examine(t *testing.T, o Options, addrs ...string) map[string]findings.Level {
	t.Helper()
	r, err := Examine(t.Context(), addrs, o)
	require.NoError(t, err)
	require.Len(t, r.PerMaster, len(addrs))
	bad := judged(r.Findings)
	for _, check := range []string{"same machine", "round trip", "clock", "processors", "clock source", "huge pages", "suspend", "time daemon"} {
		delete(bad, check)
	}
	if bad["slow commands"] == findings.Warn {
		delete(bad, "slow commands")
	}
	return bad
}

func TestGoodMastersAreFoundGoodAndLeftAsTheyWere(t *testing.T) {
	servers := redistest.Masters(t, 3)
	require.Empty(t, examine(t, quick, redistest.Addrs(servers)...))
	require.Empty(t, redistest.Keys(t, servers...))
	old := quick
	old.New = false
	require.Equal(t, map[string]findings.Level{"uptime": findings.Warn}, examine(t, old, redistest.Addrs(servers)...))
}

func TestOneServerUnderTwoNamesIsFound(t *testing.T) {
	servers := redistest.Masters(t, 2)
	other := strings.Replace(servers[0].Addr(), "127.0.0.1", "127.0.0.2", 1)
	require.Equal(t, map[string]findings.Level{"reachable": findings.Fail}, examine(t, quick, servers[0].Addr(), servers[1].Addr(), other), "it listens on one address only")

	twice := "redis://" + servers[0].Addr() + "/1"
	require.Equal(t, map[string]findings.Level{"same server": findings.Fail}, examine(t, quick, servers[0].Addr(), servers[1].Addr(), twice))
}

func TestReplicasEvictionAndPersistenceAreFoundOnRealServers(t *testing.T) {
	servers := redistest.MastersWith(t, 3, redisserver.Options{Args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--appendonly", "yes"}})
	host, port, _ := strings.Cut(servers[0].Addr(), ":")
	redistest.Command(t, servers[1], "REPLICAOF", host, port)
	require.Eventually(t, func() bool {
		return strings.Contains(redistest.Command(t, servers[0], "INFO", "replication").(string), "connected_slaves:1")
	}, 20*time.Second, 10*time.Millisecond)
	r, err := Examine(t.Context(), redistest.Addrs(servers), quick)
	require.NoError(t, err)
	level := func(check string, master int) (l findings.Level) {
		l = -1
		for _, f := range r.Findings {
			for _, m := range f.Masters {
				if f.Check == check && m == master {
					l = f.Level
				}
			}
		}
		return l
	}
	require.Equal(t, findings.Fail, level("eviction", 3))
	require.Equal(t, findings.Fail, level("role", 2))
	require.Equal(t, findings.Warn, level("failover", 1))
	require.Equal(t, findings.OK, level("failover", 3))
	require.Equal(t, findings.OK, level("permissions", 3))
	require.Equal(t, findings.Level(-1), level("permissions", 2), "the role finding has it")
	require.Equal(t, findings.OK, level("persistence", 3))
}

func TestWhatAnACLForbidsIsToldAndWhatItHidesIsNotGuessed(t *testing.T) {
	server := redistest.MastersWith(t, 1, redisserver.Options{})[0]
	user := func(name string, rules ...string) string {
		redistest.Command(t, server, append([]string{"ACL", "SETUSER", name, "on", ">secret", "resetkeys", "~locks:*", "~__muxlock__:*"}, rules...)...)
		return "redis://" + name + ":secret@" + server.Addr()
	}
	needed := []string{"+hello", "+ping", "+info", "+script|load", "+evalsha", "+set", "+get", "+del", "+pexpire", "+pttl", "+time"}
	least := user("least", append(needed, "+client|tracking", "+client|caching")...)
	one := map[string]findings.Level{"how many": findings.Warn, "slow commands": findings.Unknown}
	require.Equal(t, one, examine(t, quick, least))

	polls := user("polls", needed...)
	require.Equal(t, map[string]findings.Level{"how many": findings.Warn, "slow commands": findings.Unknown, "wake-ups": findings.Warn}, examine(t, quick, polls))

	half := user("half", append(needed, "+client|tracking")...)
	require.Equal(t, map[string]findings.Level{"how many": findings.Warn, "slow commands": findings.Unknown, "wake-ups": findings.Warn}, examine(t, quick, half))

	mute := user("mute", append(needed, "+client|tracking", "+client|caching", "-script|load")...)
	require.Equal(t, map[string]findings.Level{"how many": findings.Warn, "slow commands": findings.Unknown, "permissions": findings.Fail}, examine(t, quick, mute))

	require.Equal(t, map[string]findings.Level{"how many": findings.Warn, "reachable": findings.Fail}, examine(t, quick, "redis://least:wrong@"+server.Addr()))
}

func TestEmbeddedMastersAndAnEndedContextAreSurvived(t *testing.T) {
	set, err := masters.StartEmbedded(3)
	require.NoError(t, err)
	defer set.Close()
	for check, level := range examine(t, quick, set.Addrs...) {
		require.NotEqual(t, findings.Fail, level, check)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Examine(ctx, set.Addrs, quick)
	require.ErrorIs(t, err, context.Canceled)
}
