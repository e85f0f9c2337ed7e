package serverinfo_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/serverinfo"
	"muxlock/internal/testing/redistest"
)

func TestRealServerReportsWhatIsRead(t *testing.T) {
	info := serverinfo.Parse(redistest.Command(t, redistest.Masters(t, 1)[0], "INFO").(string))
	require.Len(t, info.RunID(), 40)
	require.Len(t, info.ReplID(), 40)
	require.Equal(t, "master", info.Role())
	_, version := info.Product()
	require.Regexp(t, `^\d+\.\d+`, version)
	up, known := info.Uptime()
	require.True(t, known)
	require.Less(t, up, time.Minute)
	require.False(t, info.Replica() || info.WasReplica() || info.Loading() || info.Cluster())
}

func TestWhatIsNotReportedIsUnknown(t *testing.T) {
	info := serverinfo.Parse("# Server\r\nno field\r\n")
	require.Empty(t, info)
	_, known := info.Uptime()
	require.False(t, known)
	_, version := info.Product()
	require.Empty(t, version)
	require.False(t, info.Replica() || info.WasReplica() || info.Loading() || info.Cluster())
}

func TestStatesOfAServer(t *testing.T) {
	require.True(t, serverinfo.Parse("role:slave\r\n").Replica())
	require.True(t, serverinfo.Parse("second_repl_offset:0\r\n").WasReplica())
	require.False(t, serverinfo.Parse("second_repl_offset:-1\r\n").WasReplica())
	require.True(t, serverinfo.Parse("loading:1\r\n").Loading())
	require.False(t, serverinfo.Parse("loading:0\r\n").Loading())
	require.True(t, serverinfo.Parse("cluster_enabled:1\r\n").Cluster())
	name, version := serverinfo.Parse("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\n").Product()
	require.Equal(t, "valkey", name)
	require.Equal(t, "8.1.0", version)
}

func TestUptimeThatIsMissingOrOddIsReadAsJustStarted(t *testing.T) {
	uptime := func(text string) time.Duration {
		up, _ := serverinfo.Info{"uptime_in_seconds": text}.Uptime()
		return up
	}
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "x": 0, "1.5": 0, "-1": 0, "-3598": 0, "-99999999999999999999": 0, "1": time.Second, "86400": 24 * time.Hour,
	} {
		require.Equal(t, want, uptime(text), "%q", text)
	}
	for _, huge := range []string{"9223372036", "9223372037", "9223372036854775807", "99999999999999999999"} {
		require.Greater(t, uptime(huge), 100*365*24*time.Hour, huge)
	}
}

func TestServerThatCanBeNoMasterSaysWhatToDo(t *testing.T) {
	require.NoError(t, serverinfo.Parse("run_id:a\r\nredis_mode:standalone\r\ncluster_enabled:0\r\n").Unusable())
	for text, todo := range map[string]string{
		"redis_version:7.0.15\r\n":                      "enginetest",
		"run_id:a\r\ncluster_enabled:1\r\n":             "cluster-enabled no",
		"run_id:a\r\nredis_mode:sentinel\r\nrole:x\r\n": "name the masters",
	} {
		require.ErrorContains(t, serverinfo.Parse(text).Unusable(), todo)
	}
}
