package redisfake

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/scripts"
)

func TestAServersClockHasItsOwnRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := fake(t)
		s.Clock(0, 0.25)
		c.do("SET", "a", "t", "NX", "PX", "1000")
		time.Sleep(800 * time.Millisecond)
		require.Equal(t, "t", s.Value("a"))
		s.Clock(-100*time.Millisecond, 0)
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, "t", s.Value("a"))
		time.Sleep(time.Millisecond)
		require.Empty(t, s.Keys())
	})
}

func TestWhatARestartKeeps(t *testing.T) {
	s, _ := fake(t)
	s.Set("a", "old")
	old := s.Snapshot()
	s.Set("a", "new")
	first := s.RunID()
	s.RestartDurable()
	require.Equal(t, "new", s.Value("a"))
	require.NotEqual(t, first, s.RunID())
	require.ErrorContains(t, s.Do("EVALSHA", scripts.Release.SHA1, "1", "a", "new").(error), "NOSCRIPT")
	s.RestartWith(old)
	require.Equal(t, "old", s.Value("a"))
	s.Down()
	require.Error(t, s.Do("PING").(error))
	s.RestartWith(nil)
	require.Equal(t, "PONG", s.Do("PING"))
	require.Empty(t, s.Keys())
}

func TestAFlushKeepsTheScriptsAndTellsWhoTracks(t *testing.T) {
	s, c := fake(t)
	told := make(chan []rueidis.RedisMessage, 1)
	tracker := connect(t, rueidis.ClientOption{InitAddress: []string{"fake:6379"}, DialCtxFn: s.Dial, OnInvalidations: func(m []rueidis.RedisMessage) {
		if m != nil {
			told <- m
		}
	}, ClientTrackingOptions: []string{"OPTIN"}})
	c.do("SCRIPT", "LOAD", scripts.Release.Source)
	c.do("SET", "a", "t", "NX", "PX", "100000")
	tracker.do("CLIENT", "TRACKING", "ON", "OPTIN")
	tracker.do("CLIENT", "CACHING", "YES")
	tracker.do("PTTL", "a")
	s.Flush()
	require.Len(t, <-told, 1)
	require.Equal(t, "-1", c.do("EVALSHA", scripts.Release.SHA1, "1", "a", "t"))
}

func TestAReplicaHasTheOthersDataAndIsKnownByIt(t *testing.T) {
	s, c := fake(t)
	other, _ := fake(t)
	other.Set("a", "theirs")
	before := c.info()
	s.ReplicaOf(other)
	require.True(t, c.info().Replica())
	require.Equal(t, "READONLY You can't write against a read only replica", c.do("SET", "b", "t", "NX", "PX", "1000"))
	s.Promote()
	after := c.info()
	require.False(t, after.Replica())
	require.True(t, after.WasReplica())
	require.NotEqual(t, before.ReplID(), after.ReplID())
	require.Equal(t, before.RunID(), after.RunID())
	require.Equal(t, "theirs", c.do("GET", "a"))
	s.Promote()
	require.Equal(t, after.ReplID(), c.info().ReplID(), "it is none")
}

func TestMangledRepliesAndTheEndOfTheConnection(t *testing.T) {
	s := New()
	defer s.Close()
	s.Mangle(func(nth int, reply []byte) ([]byte, bool) {
		return [][]byte{reply, []byte("+AHOY\r\n"), nil, reply}[nth], nth == 2
	})
	c, err := s.Dial(t.Context(), "", nil, nil)
	require.NoError(t, err)
	_, err = c.Write([]byte(strings.Repeat("*1\r\n$4\r\nPING\r\n", 4)))
	require.NoError(t, err)
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "+PONG\r\n+AHOY\r\n", string(got))
}
