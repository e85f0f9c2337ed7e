package validation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/quorum"
	"muxlock/internal/redistest"
)

// splits is how often none of k callers who reach masters in random order gets q of them.
func splits(k, masters, q, rounds int) (split int64) {
	rng := seeded(uint64(k), uint64(q))
	for range rounds {
		votes, won := make([]int, k), false
		for range masters {
			i := rng.IntN(k)
			votes[i]++
			won = won || votes[i] >= q
		}
		if !won {
			split++
		}
	}
	return split
}

func TestSplitVotesAreWithinForTheRightCallersAndQuorum(t *testing.T) {
	const rounds = 1000
	for _, k := range []int{2, 3, 5} {
		requireAll(t, Within, splitCheck(k, 5, splits(k, 5, 3, rounds), rounds))
		requireAll(t, Outside,
			splitCheck(k, 5, splits(k, 5, 4, rounds), rounds), // a wrong quorum
			splitCheck(k, 5, splits(k+1, 5, 3, rounds), rounds))
	}
}

func TestTwoCallersNeverSplitTheVoteOfFiveMasters(t *testing.T) {
	redistest.Masters(t, 1) // skips without a server
	require.Zero(t, sizing.SplitAtOnce(2, most, quorum.Size(most)))
	split, rounds, err := measureSplit(t.Context(), 2, Options{Seed: 1, Length: 500 * time.Millisecond})
	require.NoError(t, err)
	require.Zero(t, split)
	require.NotZero(t, rounds)
}
