package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClampedValuesAreCountedAtTheEdge(t *testing.T) {
	h := NewHistogram()
	h.Record(0, 1)
	h.Record(longest*100, 1)
	s := h.Summary()
	require.EqualValues(t, 2, s.Count)
	require.EqualValues(t, 1, s.P["50"])
	require.InEpsilon(t, float64(longest), float64(s.Max), 0.001)
}
