package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNothingIsMeasuredUnlessItIsAskedFor(t *testing.T) {
	e := open(t, five(t))
	cycle(t, e, t.Name())
	require.Nil(t, e.record.measure)
	require.Zero(t, e.Measured())
}
