package model

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEverySearchIsInOneQuarter(t *testing.T) {
	for i := range 100 {
		name, in := fmt.Sprint("model ", i), 0
		for part := range 4 {
			t.Setenv("MUXLOCK_MODEL", fmt.Sprintf("%d/4", part+1))
			if Drawn(name) {
				in++
			}
		}
		require.Equal(t, 1, in)
	}
	t.Setenv("MUXLOCK_MODEL", "all")
	require.True(t, Drawn("model"))
	t.Setenv("MUXLOCK_MODEL", "")
	require.False(t, Drawn("model"))
	for _, wrong := range []string{"some", "0/4", "5/4", "1/0"} {
		t.Setenv("MUXLOCK_MODEL", wrong)
		require.Panics(t, func() { Drawn("model") }, wrong)
	}
}
