package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
	"muxlock/internal/testing/redistest"
	"muxlock/pipeline"
)

func TestAPrefixIsOfTheKeyAndNotOfTheName(t *testing.T) {
	masters := redistest.Masters(t, 3)
	names := make(chan string, 8)
	cfg := Config{
		Masters: redistest.Addrs(masters), MastersAreNew: true, MasterTimeout: patience, Prefix: "app:",
		Observer: &Observer{
			Acquired:    func(name string, _ time.Duration, _ int) { names <- "acquired " + name },
			NotAcquired: func(name string, _ time.Duration, _ int, _ error) { names <- "refused " + name },
			Released:    func(name string, _ time.Duration, _ bool, _ error) { names <- "released " + name },
		},
	}
	e, err := New(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	lock, err := e.Acquire(t.Context(), "job", 0)
	require.NoError(t, err)
	require.Equal(t, "job", lock.Name())
	require.Equal(t, `lock "job"`, fmt.Sprint(lock))
	require.Equal(t, []string{"app:job"}, redistest.Keys(t, masters[0]))

	cfg.Prefix, cfg.Observer = "", nil
	bare, err := New(t.Context(), cfg)
	require.NoError(t, err)
	defer bare.Close()
	_, err = bare.TryAcquire(t.Context(), "app:job", 0)
	require.ErrorIs(t, err, ErrTaken, "it is the same key")
	_, err = e.TryAcquire(t.Context(), "job", 0)
	require.ErrorIs(t, err, ErrTaken)
	require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
	require.NoError(t, lock.Release(t.Context()))
	for _, want := range []string{"acquired job", "refused job", "released job"} {
		require.Equal(t, want, <-names)
	}
}

func TestAPrefixNeverLeadsIntoTheReservedNames(t *testing.T) {
	for prefix, bad := range map[string]bool{
		"": false, "app:": false, pipeline.ReservedPrefix: true, pipeline.ReservedPrefix + "x": true,
		strings.Repeat("x", limits.NameBytes-1): false, strings.Repeat("x", limits.NameBytes): true,
	} {
		cfg := Config{Masters: []string{"a:1"}, Prefix: prefix}.withDefaults()
		err := cfg.validate()
		if bad {
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, "Prefix")
			continue
		}
		require.NoError(t, err)
	}
	cfg := Config{Prefix: pipeline.ReservedPrefix[:3]}
	_, err := cfg.key(pipeline.ReservedPrefix[3:] + "x")
	require.ErrorIs(t, err, ErrInvalid)
	_, err = cfg.key(strings.Repeat("x", limits.NameBytes-2))
	require.ErrorIs(t, err, ErrInvalid)
	_, err = cfg.key("")
	require.ErrorIs(t, err, ErrInvalid)
	key, err := cfg.key(pipeline.ReservedPrefix)
	require.NoError(t, err)
	require.Equal(t, pipeline.ReservedPrefix[:3]+pipeline.ReservedPrefix, key)
}
