package view

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/advice"
)

func TestTheLeaseThatIsAdvisedIsMarkedOnTheCurveOfLosses(t *testing.T) {
	var a advice.Advice
	a.Config.TTL = 2 * time.Second
	a.Losses = []advice.Loss{
		{TTL: 1e9, RTO: 11e8, P: 1e-3, Lo: 1e-4, Hi: 1e-2},
		{TTL: 2e9, RTO: 21e8, P: 1e-9, Lo: 1e-14, Hi: 1e-8},
	}
	l := lossesCurve(&a)
	require.Equal(t, []float64{11e8, 21e8}, l.At)
	require.Equal(t, []Band{{From: 21e8, To: 21e8, Label: "advised"}}, l.Bands)
	require.Equal(t, []float64{1e-3, 1e-9}, l.Series[0].Y)
	require.True(t, math.IsNaN(l.Series[1].Y[1]), "what is rarer than all that is told apart")
	require.Equal(t, []float64{1e-2, 1e-8}, l.Series[2].Y)
}
