package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline/internal/pace"
)

func queueOf(counts map[Op]int) *queue {
	q := new(queue)
	for op, n := range counts {
		for range n {
			q.push(&call{req: Request{Op: op}})
		}
	}
	return q
}

func TestReleasesComeFirstThenExtendsThenAcquires(t *testing.T) {
	for _, c := range []struct {
		releases, extends, acquires, most int
		want                              [classes]int
	}{
		{3, 4, 5, 64, [classes]int{3, 4, 5}},
		{100, 0, 0, 64, [classes]int{64, 0, 0}},
		{100, 100, 100, 64, [classes]int{48, 8, 8}},
		{100, 3, 100, 64, [classes]int{53, 3, 8}},
		{10, 100, 100, 64, [classes]int{10, 46, 8}},
		{0, 100, 1, 64, [classes]int{0, 63, 1}},
		{0, 0, 100, 64, [classes]int{0, 0, 64}},
		{60, 0, 100, 64, [classes]int{56, 0, 8}},
	} {
		q := queueOf(map[Op]int{Release: c.releases, Extend: c.extends, Acquire: c.acquires})
		require.Equal(t, c.releases+c.extends+c.acquires, q.len())
		require.Equal(t, c.acquires, q.classes[classOf(&Request{})].n)
		require.Equal(t, c.want, q.shares(c.most), "%+v", c)
	}
}

// Every waiting class has a part of every round, and a round is full if enough calls wait.
func TestNoClassStarvesAndNoRoomIsLeft(t *testing.T) {
	counts := []int{0, 1, 7, 8, 9, 60, 64, 1000}
	for _, most := range []int{64, 100, pace.LeastBudget, mostInRound} {
		for _, r := range counts {
			for _, e := range counts {
				for _, a := range counts {
					q := queueOf(map[Op]int{Release: r, Extend: e, Acquire: a})
					shares, sum := q.shares(most), 0
					for i, n := range []int{r, e, a} {
						require.LessOrEqual(t, shares[i], n)
						require.GreaterOrEqual(t, shares[i], min(n, most/keptPart), "%v of %d: %d %d %d", shares, most, r, e, a)
						sum += shares[i]
					}
					require.Equal(t, min(most, r+e+a), sum, "%v of %d: %d %d %d", shares, most, r, e, a)
				}
			}
		}
	}
}

func TestCallsAreTakenInOrderOfArrivalAndOutOfTheMiddle(t *testing.T) {
	for without := range 3 {
		q := new(queue)
		var list []*call
		for range 3 {
			c := &call{req: Request{Op: Acquire}}
			list = append(list, c)
			q.push(c)
		}
		q.remove(list[without])
		require.False(t, list[without].queued)
		for i, c := range list {
			if i != without {
				require.Same(t, c, q.classes[classOf(&Request{})].first)
				q.remove(c)
			}
		}
		require.Zero(t, q.len())
		require.Nil(t, q.classes[classOf(&Request{})].first)
		require.Nil(t, q.classes[classOf(&Request{})].last)
	}
}
