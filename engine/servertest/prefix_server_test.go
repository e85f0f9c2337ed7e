package servertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestAPrefixIsOfTheKeyAndNotOfTheName(t *testing.T) {
	masters := redistest.Masters(t, 3)
	names := make(chan string, 8)
	cfg := engine.Config{
		Masters: redistest.Addrs(masters), MastersAreNew: true, MasterTimeout: await.Patience, Prefix: "app:",
		Observer: &engine.Observer{
			Acquired:    func(name string, _ time.Duration, _ int) { names <- "acquired " + name },
			NotAcquired: func(name string, _ time.Duration, _ int, _ error) { names <- "refused " + name },
			Released:    func(name string, _ time.Duration, _ bool, _ error) { names <- "released " + name },
		},
	}
	e, err := engine.New(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	lock, err := e.Acquire(t.Context(), "job", 0)
	require.NoError(t, err)
	require.Equal(t, "job", lock.Name())
	require.Equal(t, `lock "job"`, fmt.Sprint(lock))
	require.Equal(t, []string{"app:job"}, redistest.Keys(t, masters[0]))

	cfg.Prefix, cfg.Observer = "", nil
	bare, err := engine.New(t.Context(), cfg)
	require.NoError(t, err)
	defer bare.Close()
	_, err = bare.TryAcquire(t.Context(), "app:job", 0)
	require.ErrorIs(t, err, engine.ErrTaken, "it is the same key")
	_, err = e.TryAcquire(t.Context(), "job", 0)
	require.ErrorIs(t, err, engine.ErrTaken)
	require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
	require.NoError(t, lock.Release(t.Context()))
	for _, want := range []string{"acquired job", "refused job", "released job"} {
		require.Equal(t, want, <-names)
	}
}
