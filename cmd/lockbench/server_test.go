package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
)

func TestServersAreOfTheGivenPrograms(t *testing.T) {
	t.Parallel()
	needServer(t)
	program, err := redisserver.Binary()
	require.NoError(t, err)
	stdout, stderr, code := lockbench(t, "run", "--server", program, "--server", program, "--local", "3", "--duration", "300ms", "--warmup", "100ms", "-o", "json")
	require.Contains(t, []int{exitOK, exitNotValid}, code, stderr)
	require.Contains(t, stdout, `"`+program+`"`, "to repeat it")

	_, stderr, code = lockbench(t, "run", "--server", "/no/such/server", "--duration", "300ms")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, `--server: exec: "/no/such/server": stat /no/such/server: no such file or directory`)
	_, stderr, code = lockbench(t, "masters", "--server", "no-such-server")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, `--server: exec: "no-such-server": executable file not found`)
	_, stderr, code = lockbench(t, "run", "--embedded", "3", "--server", program)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--server is for --local servers")
}
