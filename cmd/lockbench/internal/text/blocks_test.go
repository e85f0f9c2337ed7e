package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSparksAndBarsAreInProportion(t *testing.T) {
	require.Equal(t, "▁▂▅█", Spark([]float64{0, 1, 4, 7}))
	require.Equal(t, "▁▁", Spark([]float64{0, 0}))
	require.Equal(t, "", Spark(nil))
	require.Equal(t, "██··", Bar(0.5, 4))
	require.Equal(t, "███████▏", block(57.0/64, 8))
	require.Equal(t, "····", Bar(0, 4))
	require.Equal(t, "████", Bar(7, 4))
}
