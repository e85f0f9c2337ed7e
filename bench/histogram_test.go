package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/stats"
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

func TestASummaryHoldsItsWholeHistogram(t *testing.T) {
	h := NewHistogram()
	for i := range int64(10_000) {
		h.Record(1+i*i, 1)
	}
	s := h.Summary()
	back, err := s.Histogram()
	require.NoError(t, err)
	require.EqualValues(t, 10_000, back.Count())
	for _, p := range stats.Percentiles {
		require.Equal(t, s.P[p.Name], back.Percentile(p.Value), p.Name)
	}
	var count, last int64
	for value, n := range back.Bars() {
		require.Greater(t, value, last)
		require.Positive(t, n)
		last, count = value, count+n
	}
	require.EqualValues(t, 10_000, count)
	require.Equal(t, s.Max, last)
	ns, ok := s.Percentile(12.5) // is not in P
	require.True(t, ok && ns == back.Percentile(12.5))
	for range back.Bars() {
		break // is allowed
	}
}

func TestAnEmptySummaryHasNoHistogramText(t *testing.T) {
	s := NewHistogram().Summary()
	require.Empty(t, s.HDR)
	h, err := s.Histogram()
	require.NoError(t, err)
	require.Zero(t, h.Count())
	require.Zero(t, h.Percentile(50))
	_, ok := s.Percentile(12.5)
	require.False(t, ok)
	for range h.Bars() {
		t.Fatal("a bar of nothing")
	}
}

func TestATextThatIsNoHistogramIsAnError(t *testing.T) {
	for _, text := range []string{"x", "HISTF", "HISTFAAAACh42pJp"} {
		_, err := (&Summary{HDR: text}).Histogram()
		require.Error(t, err, text)
	}
}
