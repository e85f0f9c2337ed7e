package draw

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASeedFollowsFromTheNumberAndTheTest(t *testing.T) {
	t.Setenv(Env, "")
	require.NotEqual(t, Seed(t), Seed(t))
	t.Setenv(Env, "7")
	seven := Seed(t)
	require.Equal(t, seven, Seed(t))
	t.Run("another", func(t *testing.T) { require.NotEqual(t, seven, Seed(t)) })
	t.Setenv(Env, "8")
	require.NotEqual(t, seven, Seed(t))
}
