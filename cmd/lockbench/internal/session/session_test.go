package session

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/redisserver"
)

func TestWithoutAServerProgramMastersAreEmbeddedUnlessOthersWereAskedFor(t *testing.T) {
	t.Setenv("PATH", "")
	p := &plan.Plan{Masters: plan.Masters{Target: result.Local, Count: 1}}
	var log bytes.Buffer
	set, err := start(t.Context(), p, &log)
	require.NoError(t, err)
	require.Equal(t, result.Embedded, set.Kind)
	require.NoError(t, set.Close())
	require.Contains(t, log.String(), redisserver.ErrNoBinary.Error()+"\nEMBEDDED MASTERS: 1 ")
	p.Faults = make([]faults.Fault, 1)
	_, err = start(t.Context(), p, &log)
	require.ErrorContains(t, err, "--fault needs local masters")
	p.Masters.Chosen = true
	_, err = start(t.Context(), p, &log)
	require.EqualError(t, err, redisserver.ErrNoBinary.Error())
}
