package fence_test

import (
	"errors"
	"math"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/engine/fence"
	"muxlock/internal/testing/redistest"
)

func TestCheckAcceptsEqualAndLargerAndRefusesSmaller(t *testing.T) {
	numbers := []uint64{1, 2, 3, 1 << 32, fence.Max - 1, fence.Max}
	for _, seen := range append([]uint64{0}, numbers...) {
		for _, came := range numbers {
			err := fence.Check(seen, came)
			if came >= seen {
				require.NoError(t, err, "%d after %d", came, seen)
				continue
			}
			require.ErrorIs(t, err, fence.ErrStale)
			var stale *fence.StaleError
			require.True(t, errors.As(err, &stale))
			require.Equal(t, fence.StaleError{Fence: came, Seen: seen}, *stale)
		}
	}
	require.EqualError(t, fence.Check(4, 3), "fence: stale: 3 came, 4 was seen")
	require.ErrorIs(t, fence.Check(math.MaxUint64, fence.Max), fence.ErrStale, "whatever was seen, nothing older passes")
}

// noFences are what no lock has.
var noFences = []uint64{0, fence.Max + 1, fence.Max + 2, math.MaxInt64, math.MaxUint64}

func TestCheckRefusesWhatIsNoFence(t *testing.T) {
	require.Equal(t, uint64(1<<53), fence.Max+1)
	for _, came := range noFences {
		for _, seen := range []uint64{0, 1, fence.Max, math.MaxUint64} {
			err := fence.Check(seen, came)
			require.ErrorIs(t, err, fence.ErrInvalid, "%d after %d", came, seen)
			require.NotErrorIs(t, err, fence.ErrStale)
		}
	}
}

func TestResourcesGetNoDependencies(t *testing.T) {
	redistest.NeedProcess(t)
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "muxlock/engine/fence").Output()
	require.NoError(t, err)
	require.Equal(t, "muxlock/engine/fence\n", string(out))
}
