package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

func TestBadInputOfMastersNamesItsFlagAndStartsNothing(t *testing.T) {
	requireRefused(t, map[string]string{
		"run --probe-every -1s":                 "--probe-every",
		"run --probe-every 10us":                "--probe-every",
		"run --new-masters":                     "--new-masters",
		"compare --embedded 3 --new-masters":    "--new-masters",
		"masters --local 100":                   "--local",
		"masters --for -1s":                     "--for",
		"masters --local 2 --fault delay:3:1ms": "--fault",
		"masters --local 2 --fault stop:1":      "--fault",
		"masters --masters a:1":                 "--masters",
		"masters --server no-such-server":       `--server: exec: "no-such-server": executable file not found`,
		"run --server /no/such/server":          `--server: exec: "/no/such/server": stat /no/such/server: no such file or directory`,
		"run --embedded 3 --server /bin/sh":     "--server is for --local servers",
	})
}

func TestMastersRunUntilTheyAreStoppedAndCanBeLockedOn(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	cmd := exec.Command(redistest.Program(t), "masters", "--local", "2", "--fault", "delay:2:30ms")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addrs := strings.TrimSpace(line)
	require.Len(t, strings.Split(addrs, ","), 2)

	doc, _ := measured(t, "run --new-masters --master-timeout 2s --workers 2 --duration 500ms --warmup 0s --probe-every 5ms --masters "+addrs)
	first := doc.Results[0]
	require.Len(t, first.PerMaster, 2)
	require.Greater(t, first.PerMaster[1].RTT.P["50"], int64(30*time.Millisecond))
	require.NotEmpty(t, first.Probe.Rows)
	require.Len(t, first.Probe.Rows[0], 2)
	require.Len(t, first.Series[0].MasterNs, 2)

	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait(), "Ctrl-C is how it ends")
}

func TestMastersAreProbedOnceOrNever(t *testing.T) {
	t.Parallel()
	for every, want := range map[string]int{"5ms": 2, "0": 0} {
		doc, _ := measured(t, "run --embedded 2 --procs 2 --duration 1s --warmup 0s --master-timeout 8s --probe-every "+every)
		require.Len(t, doc.Results[0].PerMaster, want)
	}
}
