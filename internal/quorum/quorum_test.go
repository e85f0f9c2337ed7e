package quorum

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
)

// naive tries every way in which the open votes may fall. A verdict stands when all of them end in it.
func naive(t Tally, n int) Verdict {
	open := n - int(t.Granted) - int(t.Refused) - int(t.Unknown)
	if open == 0 {
		return final(t, n)
	}
	first := Pending
	for i, v := range []Vote{Granted, Refused, Unknown} {
		next := t
		next.Add(v)
		got := naive(next, n)
		if i > 0 && got != first {
			return Pending
		}
		first = got
	}
	return first
}

func final(t Tally, n int) Verdict {
	switch {
	case 2*int(t.Granted) > n:
		return Won
	case 2*(n-int(t.Refused)) <= n: // the others are no majority
		return Denied
	}
	return NoQuorum
}

func TestVerdictIsTheFirstThatNoFurtherVoteCanChange(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for g := 0; g <= n; g++ {
			for r := 0; r <= n-g; r++ {
				for u := 0; u <= n-g-r; u++ {
					tally := Tally{Granted: uint8(g), Refused: uint8(r), Unknown: uint8(u)}
					require.Equal(t, naive(tally, n), tally.Verdict(n), "n=%d %+v", n, tally)
				}
			}
		}
	}
}

func TestTwoCallersCannotBothWinTheSameMasters(t *testing.T) {
	for n := 1; n <= limits.Masters; n++ {
		require.Greater(t, 2*Size(n), n)
		require.LessOrEqual(t, Size(n), n)
	}
	for n, size := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4} {
		require.Equal(t, size, Size(n), "n=%d", n)
	}
}

func TestARowTookUntilTheAnswerOfSoManyMasters(t *testing.T) {
	for want, trips := range map[time.Duration][]time.Duration{2: {3, 1, 2}, 5: {0, 5, -1}, 0: {-1, 5, -1}} {
		took, ok := Row{Trips: trips}.Took(2)
		require.Equal(t, want, took)
		require.Equal(t, want > 0, ok)
	}
}
