package watch

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine/admin"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

func TestMastersThatAnswerAreWatchedAndOthersLeftOut(t *testing.T) {
	servers := redistest.MastersWith(t, 2, redisserver.Options{})
	redistest.Command(t, servers[1], "ACL", "SETUSER", "timeless", "on", ">secret", "+@all", "-time")
	masters := []rueidis.ClientOption{
		{InitAddress: []string{servers[0].Addr()}},
		{InitAddress: []string{servers[1].Addr()}, Username: "timeless", Password: "secret"},
		{InitAddress: []string{servers[1].Addr()}, Username: "timeless", Password: "wrong"},
	}
	all, found := Masters(t.Context(), masters, 300*time.Millisecond)
	for i, m := range masters {
		require.Equal(t, m.InitAddress[0], all[i].Addr)
		require.Zero(t, all[i].Lost)
		require.Equal(t, i < 2, all[i].RTT.Count > 0)
	}
	p := all[0].RTT
	require.LessOrEqual(t, p.Min, p.P["50"])
	require.LessOrEqual(t, p.P["50"], p.P["99"])
	require.LessOrEqual(t, p.P["99"], p.Max)
	require.Nil(t, all[1].Clock)
	require.Len(t, found, 4)
	require.Equal(t, admin.Finding{Level: admin.LevelUnknown, Check: "clock", Masters: []int{2}, Text: "not known: TIME is not permitted, or too few answers"}, found[3])
}

func TestWhatGetsNoAnswerIsCounted(t *testing.T) {
	server := redistest.Masters(t, 1)[0]
	ctx, cancel := context.WithCancel(t.Context())
	option := rueidis.ClientOption{InitAddress: []string{server.Addr()}}
	var conn net.Conn
	option.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (c net.Conn, err error) {
		if conn != nil {
			cancel()
			return nil, errors.New("gone")
		}
		conn, err = d.DialContext(ctx, "tcp", addr)
		return conn, err
	}
	var all []Master
	var found []admin.Finding
	done := make(chan struct{})
	go func() {
		defer close(done)
		all, found = Masters(ctx, []rueidis.ClientOption{option}, time.Minute)
	}()
	require.Eventually(t, func() bool {
		return strings.Contains(redistest.Command(t, server, "INFO", "commandstats").(string), "cmdstat_time:")
	}, 20*time.Second, time.Millisecond)
	redistest.Command(t, server, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	<-done
	require.Positive(t, all[0].RTT.Count)
	require.Positive(t, all[0].Lost)
	require.Positive(t, all[0].Down)
	require.Equal(t, admin.LevelWarn, found[0].Level)
}
