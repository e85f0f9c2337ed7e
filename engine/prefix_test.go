package engine

import (
	"strings"
	"testing"

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
