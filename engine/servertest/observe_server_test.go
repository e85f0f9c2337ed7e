package servertest

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// timeless is a logger whose lines are the same every time.
func timeless(out *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestLoggerSaysOnceWhatNewAssumes(t *testing.T) {
	var out bytes.Buffer
	masters := redistest.MastersWith(t, 3, redisserver.Options{Password: "secret"})
	addrs := redistest.Addrs(masters)
	e, err := engine.New(t.Context(), engine.Config{
		Masters: []string{addrs[2], "redis://:secret@" + addrs[0], addrs[1]}, MastersAreNew: true, MasterTimeout: await.Patience,
		Client: rueidis.ClientOption{Password: "secret"}, Logger: timeless(&out),
	})
	require.NoError(t, err)
	cycle(t, e, t.Name())
	require.NoError(t, e.Close())
	slices.Sort(addrs)
	require.Equal(t, fmt.Sprintf("level=INFO msg=\"locks assume\" masters=3 addresses=%q MaxTTL=30s restart_wait=31.302000001s durable=false fencing=false\n", fmt.Sprint(addrs)), out.String())
}

func TestObserverHearsOfAMasterThatGoesAndComesBack(t *testing.T) {
	const password = "a password that nobody may see"
	masters := redistest.MastersWith(t, 3, redisserver.Options{Password: password})
	type change struct {
		master string
		up     bool
		cause  error
	}
	changes := make(chan change, 100)
	var log bytes.Buffer // read once the engine is closed
	e, links := bent(t, masters, func(c *engine.Config) {
		c.Client.Password = password
		c.Logger = timeless(&log)
		c.Observer = &engine.Observer{Master: func(address string, up bool, cause error) {
			changes <- change{address, up, cause}
		}}
	})
	next := func(up bool) error {
		t.Helper()
		select {
		case c := <-changes:
			require.Equal(t, change{masters[1].Addr(), up, c.cause}, c)
			return c.cause
		case <-time.After(8 * time.Second):
			require.Fail(t, "no event")
			return nil
		}
	}
	cycle(t, e, t.Name())
	links[1].RefuseDials(true)
	links[1].Cut()
	require.Error(t, next(false))
	cycle(t, e, t.Name())
	links[1].RefuseDials(false)
	require.NoError(t, next(true))

	require.NoError(t, masters[1].Kill())
	require.NoError(t, masters[1].Restart(t.Context()))
	require.Error(t, next(false))
	require.ErrorIs(t, next(true), engine.ErrRestarted)
	require.NoError(t, e.Close())
	require.Empty(t, changes)

	require.Equal(t, 2, bytes.Count(log.Bytes(), []byte(`level=WARN msg="master set aside" master=`+masters[1].Addr()+` cause=`)), &log)
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte(`level=INFO msg="master votes" master=`+masters[1].Addr())), &log)
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte(`level=INFO msg="master does not vote yet" master=`+masters[1].Addr()+` cause="restarted: no vote for another `)), &log)
	require.NotContains(t, log.String(), password)
}

func TestIdleConnectionsThatTheServersCloseAreNoEvents(t *testing.T) {
	log := counted{new(sync.Mutex), map[string]int{}}
	logger := slog.New(log)
	masters := redistest.MastersWith(t, 3, redisserver.Options{Args: []string{"--timeout", "1"}})
	seen := make(chan bool, 100)
	e := open(t, masters, func(c *engine.Config) {
		c.Logger, c.Observer = logger, &engine.Observer{Master: func(string, bool, error) { seen <- true }}
	})
	await.True(t, func() bool { return log.count("DEBUG master connected again") >= 6 })
	require.Empty(t, seen)
	require.Zero(t, setAside(e, 0)+setAside(e, 1)+setAside(e, 2))
	cycle(t, e, "name")
	require.NoError(t, e.Close())
	require.Zero(t, log.count("WARN master set aside"))

	e = open(t, masters, func(c *engine.Config) { c.Logger = logger })
	require.NoError(t, masters[0].Stop())
	await.Equal(t, 1, func() any { return log.count("WARN master set aside") })
	require.EqualValues(t, 1, setAside(e, 0), "one that has stopped")
}
