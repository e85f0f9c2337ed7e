package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"

	"muxlock/internal/testing/redistest"
)

func TestServersAreOfTheGivenPrograms(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	program, err := redisserver.Binary()
	require.NoError(t, err)
	doc, _ := measured(t, "run --local 3 --duration 300ms --warmup 100ms --server "+program+" --server "+program)
	require.Equal(t, []string{program, program}, doc.Config.Programs, "to repeat it")
}
