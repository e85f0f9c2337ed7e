package redisfake

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/serverinfo"
	"muxlock/internal/testing/redistest"
	"muxlock/scripts"
)

// A client is a connection to a master, a fake or a real one.
type client struct {
	t testing.TB
	rueidis.Client
}

func connect(t testing.TB, option rueidis.ClientOption) client {
	t.Helper()
	option.ForceSingleClient, option.DisableCache, option.DisableRetry = true, true, true
	c, err := rueidis.NewClient(option)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return client{t, c}
}

func fake(t testing.TB) (*Server, client) {
	t.Helper()
	s := New()
	t.Cleanup(s.Close)
	return s, connect(t, rueidis.ClientOption{InitAddress: []string{"fake:6379"}, DialCtxFn: s.Dial})
}

func real(t testing.TB) client {
	t.Helper()
	return connect(t, rueidis.ClientOption{InitAddress: []string{redistest.Masters(t, 1)[0].Addr()}})
}

// do returns the answer as text, also that of an error or nil.
func (c client) do(words ...string) string {
	c.t.Helper()
	reply := c.Do(context.Background(), c.B().Arbitrary(words[0]).Args(words[1:]...).Build())
	require.NoError(c.t, reply.NonRedisError())
	answer, err := reply.ToAny()
	switch {
	case rueidis.IsRedisNil(err):
		return "nil"
	case err != nil:
		return err.Error()
	}
	return fmt.Sprint(answer)
}

func (c client) info() serverinfo.Info {
	c.t.Helper()
	text, err := c.Do(context.Background(), c.B().Info().Build()).ToString()
	require.NoError(c.t, err)
	return serverinfo.Parse(text)
}

func everyScript() []scripts.Script {
	return append(scripts.All(true), scripts.Wait, scripts.Pass, scripts.Inspect)
}

func TestKeysExpireByTheClockOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := fake(t)
		c.do("SET", "a", "t", "NX", "PX", "1000")
		time.Sleep(time.Second)
		require.Equal(t, "t", c.do("GET", "a"), "it lives through its last millisecond")
		time.Sleep(time.Millisecond)
		require.Equal(t, "-2", c.do("PTTL", "a"))
		require.Empty(t, s.Keys())
	})
}

func TestSlowAnswersComeLateAndAtOnceWhenThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := fake(t)
		took := func() time.Duration {
			start := time.Now()
			c.do("PING")
			return time.Since(start)
		}
		require.Zero(t, took())
		s.Slow(time.Second)
		require.Equal(t, time.Second, took())
		s.Slow(5 * time.Second)
		time.AfterFunc(2*time.Second, func() { s.Slow(0) })
		require.Equal(t, 2*time.Second, took())
	})
}
