package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
	"muxlock/pipeline"
)

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

func TestAPrefixIsOfTheKeyAndNotOfTheName(t *testing.T) {
	var told []string
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "job", 0)
		require.Equal(t, "job", lock.Name())
		require.Equal(t, `lock "job"`, fmt.Sprint(lock))
		require.Equal(t, []string{"app:job"}, s.locked())
		_, err := e.TryAcquire(t.Context(), "job", 0)
		require.ErrorIs(t, err, ErrTaken)
		require.NoError(t, lock.Extend(t.Context(), 20*time.Second))
		require.NoError(t, lock.Release(t.Context()))
		synctest.Wait()
		require.Equal(t, []string{"acquired job", "refused job", "released job"}, told)
		requireNothingLeft(t, e, s)
	}, func(c *Config) {
		c.Prefix = "app:"
		c.Observer = &Observer{
			Acquired:    func(name string, _ time.Duration, _ int) { told = append(told, "acquired "+name) },
			NotAcquired: func(name string, _ time.Duration, _ int, _ error) { told = append(told, "refused "+name) },
			Released:    func(name string, _ time.Duration, _ bool, _ error) { told = append(told, "released "+name) },
		}
	})
}
