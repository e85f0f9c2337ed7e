package validation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redistest"
)

func TestNamesOfCasesAreChecked(t *testing.T) {
	require.NoError(t, Known(Names()))
	require.ErrorContains(t, Known([]string{"gap", "gaps"}), `"gaps" is not one of quorum, expiry, split`)
}

func TestRunTellsOfEachSettingAndEachCheck(t *testing.T) {
	redistest.Masters(t, 1) // skips without a server
	var progress []string
	checks, err := Run(t.Context(), Options{
		Cases: []string{"queue"}, Seed: 1, Length: time.Second,
		Progress: func(setting string, c *Check) {
			if c != nil {
				setting = c.Formula
			}
			progress = append(progress, setting)
		},
	})
	require.NoError(t, err)
	require.Len(t, checks, len(queueSettings))
	require.Equal(t, []string{"queue: " + queueSettings[0].name, "F11", "queue: " + queueSettings[1].name, "F11"}, progress)
	for i, c := range checks {
		require.Equal(t, "queue", c.Case)
		require.Equal(t, queueSettings[i].name, c.Setting)
		require.Positive(t, c.StallP99Ns)
		require.Positive(t, c.Measured.N)
		require.NotEmpty(t, c.Verdict)
		if c.Verdict != Unmeasured { // on a busy machine a queue may be one without end
			require.Positive(t, c.Predicted.Value)
		}
	}
}

func TestAllCasesMeasureWhatTheyPredict(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	redistest.Masters(t, 1)
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checks, err := c.settings[0].measure(t.Context(), Options{Seed: 1, Length: 4 * time.Second})
			require.NoError(t, err)
			require.NotEmpty(t, checks)
			for _, check := range checks {
				require.NotEmpty(t, check.Formula)
				require.NotEmpty(t, check.Unit)
				require.NotZero(t, check.Measured.N, "%+v", check)
			}
		})
	}
}

func TestRunEndsWhenItIsInterrupted(t *testing.T) {
	redistest.Masters(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	checks, err := Run(ctx, Options{Seed: 1, Length: time.Hour, Progress: func(string, *Check) {
		time.AfterFunc(200*time.Millisecond, cancel)
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, checks)
}
