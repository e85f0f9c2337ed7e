package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestManyNamesAreAcquiredInOneCallEachWithItsOwnResult(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, other := open(t, masters), open(t, masters)
	names := numbered(t.Name(), 1000)
	here, there := mustAcquire(t, e, names[3], 0), mustAcquire(t, other, names[5], 0)
	everywhere(t, masters, there)
	asked := append(slices.Clone(names), names[7], "", strings.Repeat("x", limits.NameBytes+1))
	before := e.Stats()
	results := e.AcquireMany(t.Context(), asked, 20*time.Second)
	require.Len(t, results, len(asked))
	require.Less(t, e.Stats().Rounds-before.Rounds, uint64(50))
	for i, r := range results {
		switch i {
		case 3, 1000: // held here, and a second time
			require.ErrorIs(t, r.Err, errTakenHere)
		case 5:
			require.ErrorIs(t, r.Err, ErrTaken)
			require.ErrorIs(t, r.Err, ErrNotAcquired)
		case 1001, 1002:
			require.ErrorIs(t, r.Err, ErrInvalid)
		default:
			require.NoError(t, r.Err)
			require.True(t, r.Lock.Valid())
			require.Equal(t, names[i], r.Lock.Name())
			continue
		}
		require.Nil(t, r.Lock)
	}
	require.Equal(t, 999, e.Stats().Held)
	require.NoError(t, results[0].Lock.Extend(t.Context(), 30*time.Second))
	require.NoError(t, results[1].Lock.Release(t.Context()))
	errs := e.ReleaseMany(t.Context(), append(locksOf(results), here, there))
	require.Len(t, errs, len(asked)+2)
	for i, err := range errs {
		switch i {
		case 1:
			require.ErrorIs(t, err, ErrNotHeld)
		case len(asked) + 1:
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, "locks[1004]")
		default:
			require.NoError(t, err)
		}
	}
	require.True(t, there.Valid())
	require.Nil(t, other.ReleaseMany(t.Context(), []*Lock{there, nil}))
	await.Equal(t, 0, func() any { return len(ownKeys(t, masters)) })
	require.Zero(t, e.Stats().Held)
	for _, r := range e.AcquireMany(t.Context(), []string{t.Name()}, time.Nanosecond) {
		require.ErrorIs(t, r.Err, ErrInvalid)
	}
	require.Empty(t, e.AcquireMany(t.Context(), nil, 0))
	require.Nil(t, e.ReleaseMany(t.Context(), nil))
}
