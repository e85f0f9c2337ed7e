package servertest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/testing/shown"
)

func TestLoggerSaysOnceWhatNewAssumes(t *testing.T) {
	var out bytes.Buffer
	masters := redistest.MastersWith(t, 3, redisserver.Options{Password: "secret"})
	addrs := redistest.Addrs(masters)
	e, err := engine.New(t.Context(), engine.Config{
		Masters: []string{addrs[2], "redis://:secret@" + addrs[0], addrs[1]}, MastersAreNew: true, MasterTimeout: await.Patience,
		Client: rueidis.ClientOption{Password: "secret"}, Logger: shown.Timeless(&out),
	})
	require.NoError(t, err)
	cycle(t, e, t.Name())
	require.NoError(t, e.Close())
	slices.Sort(addrs)
	require.Equal(t, fmt.Sprintf("level=INFO msg=\"locks assume\" masters=3 addresses=%q MaxTTL=30s restart_wait=31.302000001s durable=false fencing=false\n", fmt.Sprint(addrs)), out.String())
}

func TestLocksThatCloseEndsAreHeardOfButCountAsNoLoss(t *testing.T) {
	var causes []error // written by the Observer, before Close returns
	e := open(t, five(t), func(c *engine.Config) {
		c.Observer = &engine.Observer{Lost: func(_ string, _ time.Duration, cause error) { causes = append(causes, cause) }}
	})
	for i := range 3 {
		mustAcquire(t, e, fmt.Sprint(t.Name(), i), 0)
	}
	require.NoError(t, e.Close())
	require.Zero(t, e.Stats().Lost, "a planned end is nothing to alert on")
	require.Len(t, causes, 3)
	require.ErrorIs(t, causes[0], engine.ErrClosed)
}
