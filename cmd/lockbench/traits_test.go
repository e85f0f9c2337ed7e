package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
)

func TestWhatARivalRanOnStandsBesideItsCaveat(t *testing.T) {
	c := result.Config{Clients: map[string]result.Client{"redislock": {Versions: []string{"go-redis v9.9.9"}, Pool: 7}, "muxlock": {Versions: []string{"rueidis v1"}}}}
	c.Impls = []string{"muxlock", "redislock", "raw"}
	m := traits(c)
	require.Contains(t, m["redislock"].Caveat, "one server: the lock dies with it")
	require.Contains(t, m["redislock"].Caveat, "(go-redis v9.9.9, pool of 7 to each master)")
	require.Empty(t, m["muxlock"].Caveat)
	require.NotEmpty(t, m["raw"].Caveat)
	require.True(t, m["muxlock"].Ours)
	require.False(t, m["redislock"].Ours)
}
