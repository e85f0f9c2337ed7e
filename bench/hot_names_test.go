package bench

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHotNamesOfAllProcessesAreSummed(t *testing.T) {
	all := []HotName{{"p:a", 1, 5}, {"p:b", 7, 3}, {"other:a", 9, 9}, {"p:a", 2, 1}, {"p:c", 8, 3}}
	require.Equal(t, []HotName{{"a", 3, 6}, {"c", 8, 3}, {"b", 7, 3}}, hottest(all, "p:"))
	for i := range 30 {
		all = append(all, HotName{"p:" + strconv.Itoa(i), 1, 1})
	}
	require.Len(t, hottest(all, "p:"), hotNamesMost)
}

// hotLocker knows its hot names.
type hotLocker struct {
	noop
	prefix string
}

func (l hotLocker) HotNames() []HotName {
	return []HotName{{Name: l.prefix + "7", Acquired: 3, WaitedNs: 4}}
}

func TestAResultHasTheHotNamesOfASharedLoad(t *testing.T) {
	for dist, want := range map[Dist][]HotName{Uniform(): {{"7", 3, 4}}, {}: nil} {
		r, err := Run(context.Background(), "hot", hotLocker{prefix: "p:"}, Config{
			Workers: 2, Keys: 8, Dist: dist, KeyPrefix: "p:", Duration: 50 * time.Millisecond, TTL: time.Second,
		})
		require.NoError(t, err)
		require.Equal(t, want, r.HotNames)
	}
}
