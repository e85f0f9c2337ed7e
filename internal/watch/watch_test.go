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
	"muxlock/internal/wallclock"
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

func TestRoundTripsAndClocksAreJudged(t *testing.T) {
	master := func(p50, lost int64, c *wallclock.Clock) Master {
		return Master{RTT: RoundTrips{Count: 100, P: map[string]int64{"50": p50, "99": 2 * p50}}, Lost: lost, Clock: c}
	}
	good := &wallclock.Clock{PPM: 20, PPMError: 30}
	for name, c := range map[string]struct {
		Master
		trips, clock admin.Level
	}{
		"good":          {Master: master(100_000, 0, good), trips: admin.LevelOK, clock: admin.LevelOK},
		"slow":          {Master: master(210_000, 0, good), trips: admin.LevelWarn, clock: admin.LevelOK},
		"loses":         {Master: master(100_000, 1, good), trips: admin.LevelWarn, clock: admin.LevelOK},
		"no clock":      {Master: master(100_000, 0, nil), trips: admin.LevelOK, clock: admin.LevelUnknown},
		"not seen well": {Master: master(100_000, 0, &wallclock.Clock{PPM: 300, PPMError: 900}), trips: admin.LevelOK, clock: admin.LevelUnknown},
		"drifts":        {Master: master(100_000, 0, &wallclock.Clock{PPM: -600, PPMError: 30}), trips: admin.LevelOK, clock: admin.LevelWarn},
		"drifts away":   {Master: master(100_000, 0, &wallclock.Clock{PPM: 12_000, PPMError: 900}), trips: admin.LevelOK, clock: admin.LevelFail},
		"steps":         {Master: master(100_000, 0, &wallclock.Clock{PPM: 12_000, JumpNs: 20_000_000}), trips: admin.LevelOK, clock: admin.LevelWarn},
	} {
		all := []Master{c.Master, master(100_000, 0, good), master(100_000, 0, good)}
		require.Equal(t, c.trips, roundTrip(all, 0).Level, name)
		require.Equal(t, c.clock, clock(all, 0).Level, name)
	}
	require.Equal(t, admin.LevelOK, roundTrip([]Master{master(100_000, 0, good)}, 0).Level, "alone")
}
