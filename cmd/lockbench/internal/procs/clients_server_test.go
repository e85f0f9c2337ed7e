package procs

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/child"
)

func TestAProcessThatEndedWithTheRunIsNoFailedFault(t *testing.T) {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	ctx, end := context.WithCancel(t.Context())
	r := &Runner{ctx: ctx, procs: []*process{{Talker: &child.Talker{Cmd: cmd}}}}
	require.ErrorIs(t, r.Pause(0), os.ErrProcessDone)
	require.ErrorIs(t, r.Resume(0), os.ErrProcessDone)
	end()
	require.NoError(t, r.Pause(0))
	require.NoError(t, r.Resume(0))
}
