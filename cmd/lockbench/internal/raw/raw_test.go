package raw

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachBatchIsAShareOfItsConnectionWhoeverMakesTheMajority(t *testing.T) {
	l := &Load{batches: make([]int64, 2), shares: make([]int64, 2*ConnsPerMaster)}
	for conn := range l.shares {
		l.answered(conn)
	}
	require.EqualValues(t, 1, slices.Min(l.shares))
}
