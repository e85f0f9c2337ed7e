package validation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/sizing"
)

// world is masters that answer after lognormal(median, 0.5) and a stall that all have in
// common.
type world struct {
	rng    *rand.Rand
	median float64
	stall  float64 // mean, of one attempt in ten
}

func (w world) row() []float64 {
	row := make([]float64, 5)
	var stall float64
	if w.rng.Float64() < 0.1 {
		stall = w.stall * w.rng.ExpFloat64()
	}
	for i := range row {
		row[i] = w.median*math.Exp(0.5*w.rng.NormFloat64()) + stall
	}
	return row
}

func (w world) rows(n int) (rows sizing.Rows) {
	for range n {
		rows = append(rows, w.row())
	}
	return rows
}

// quorums are times until q answered.
func (w world) quorums(n, q int) (took []float64) {
	for range n {
		row := w.row()
		slices.Sort(row)
		took = append(took, row[q-1])
	}
	return took
}

const simulated = 10_000

func TestQuorumTimesAreWithinWhereTheyAreWhatRowsSay(t *testing.T) {
	w := world{seeded(1, 1), 10e6, 0}
	rows := w.rows(simulated)
	requireAll(t, Within, quorumChecks(rows, w.quorums(simulated, 3))...)
	requireAll(t, Outside, quorumChecks(rows, w.quorums(simulated, 4))...) // a wrong quorum
	slow := world{w.rng, 12e6, 0}
	requireAll(t, Outside, quorumChecks(rows, slow.quorums(simulated, 3))...) // another law
}

func TestStallsOfAllAtOnceBreakIndependenceAndNotJointRows(t *testing.T) {
	w := world{seeded(2, 1), 10e6, 30e6}
	for _, c := range quorumChecks(w.rows(simulated), w.quorums(simulated, 3)) {
		want := Within
		if c.Formula == "F2" && c.Quantity == "p99 of an acquire" {
			want = Outside
		}
		require.Equal(t, want, c.judge().Verdict, "%+v", c)
	}
}

func TestValidityLeftIsWithinWhereItIsWhatRowsSay(t *testing.T) {
	w := world{seeded(3, 1), 10e6, 0}
	rows := w.rows(simulated)
	left := func(q int, clocks sizing.Clocks) (left []float64) {
		for _, took := range w.quorums(simulated, q) {
			left = append(left, clocks.Validity(float64(expiryLease), took))
		}
		return left
	}
	requireAll(t, Within, expiryChecks(rows, left(3, sizing.EngineClocks))...)
	requireAll(t, Outside, expiryChecks(rows, left(4, sizing.EngineClocks))...)
	requireAll(t, Outside, expiryChecks(rows, left(3, sizing.Clocks{Rho: 0.01}))...) // 2 ms not given up
}
