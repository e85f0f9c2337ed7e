package sizing

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/combin"

	"muxlock/internal/quorum"
)

// Rows are joint round trips, F3: in each row one attempt's times to all masters, sent
// at the same moment; below 0 is no answer. Because a stall of the client is in all
// times of its row, a quorum read off rows is right where F2 is too hopeful.
type Rows [][]float64

// NewRows reads what a probe wrote, without the rows that are not of all masters.
func NewRows(ns [][]int64) Rows {
	var rows Rows
	for _, from := range ns {
		if len(from) != len(ns[0]) {
			continue
		}
		row := make([]float64, len(from))
		for i, v := range from {
			row[i] = float64(v)
		}
		rows = append(rows, row)
	}
	return rows
}

// Masters is the number of masters.
func (r Rows) Masters() int {
	if len(r) == 0 {
		return 0
	}
	return len(r[0])
}

// Master is the law of one master's answers, nil when there are none, and the part of
// probes that it answered.
func (r Rows) Master(i int) (law *Law, answered float64) {
	got := sorted(r.column(i))
	return Samples(got, nil), float64(len(got)) / float64(max(len(r), 1))
}

// column is all times to one master.
func (r Rows) column(i int) []float64 {
	times := make([]float64, len(r))
	for j, row := range r {
		times[j] = row[i]
	}
	return times
}

// FirstN is the numbers of n masters.
func FirstN(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// QuorumTimes is TimesOf all masters.
func (r Rows) QuorumTimes(q int) []float64 { return r.TimesOf(FirstN(r.Masters()), q) }

// QuorumTime is the law of the time in which q masters answer, and the part of the attempts in
// which fewer do; the law is nil when that is all of them.
func (r Rows) QuorumTime(q int) (law *Law, failed float64) {
	return FiniteTimes(r.QuorumTimes(q))
}

// FiniteTimes is the law of those times that are finite, nil when none is, and the part of
// those that are not.
func FiniteTimes(times []float64) (law *Law, failed float64) {
	var got []float64
	for _, t := range times {
		if !math.IsInf(t, 1) {
			got = append(got, t)
		}
	}
	return Samples(got, nil), 1 - float64(len(got))/float64(max(len(times), 1))
}

// Fewer is QuorumTime for a quorum of n of these masters, any n of them alike: in a row in
// order, the j-th answer is the q-th of a random n with the probability that q-1 of
// those are before it and n-q after. Weights are in 1/fewerUnit of a row.
func (r Rows) Fewer(n int) (law *Law, failed float64) {
	const fewerUnit = 10000
	N, q := r.Masters(), quorum.Size(n)
	var values []float64
	var counts []int64
	var won float64
	for _, row := range r {
		for j, v := range sorted(row) {
			if j < q-1 || N-j-1 < n-q {
				continue
			}
			w := float64(combin.Binomial(j, q-1)*combin.Binomial(N-j-1, n-q)) / float64(combin.Binomial(N, n))
			values, counts = append(values, v), append(counts, int64(math.Round(w*fewerUnit)))
			won += w
		}
	}
	law = Samples(values, counts)
	if law != nil { // as many samples as there were rows
		law.n = max(law.n/fewerUnit, 1)
		law.tail = fitTail(law, ShapePrior)
	}
	return law, 1 - won/float64(max(len(r), 1))
}

// More is QuorumTime for a quorum of n masters, more than were probed and like these: what is
// common to a row, its least answer, stays; how much later each of the n answers is drawn
// from the differences of all rows. That is a model: within some percent where what is
// common varies less than the masters do.
func (r Rows) More(n int, rng *rand.Rand) (law *Law, failed float64) {
	var common, later []float64 // later: below 0 is no answer
	for _, row := range r {
		answers := sorted(row)
		if len(answers) == 0 {
			continue
		}
		common = append(common, answers[0])
		for _, v := range row {
			later = append(later, v-answers[0])
			if v < 0 {
				later[len(later)-1] = -1
			}
		}
	}
	more := make(Rows, len(common))
	for i, c := range common {
		more[i] = make([]float64, n)
		for j := range more[i] {
			if more[i][j] = later[rng.IntN(len(later))]; more[i][j] >= 0 {
				more[i][j] += c
			}
		}
	}
	law, failed = more.QuorumTime(quorum.Size(n))
	return law, 1 - (1-failed)*float64(len(common))/float64(max(len(r), 1))
}

// Gap is by how much a quorum takes longer, at percentile p, than independent masters
// would (F2). Well above 1: what is slow is common to all of them, the client's host first.
func (r Rows) Gap(p float64) float64 {
	if len(r) == 0 {
		return 1
	}
	q := quorum.Size(r.Masters())
	joint, alone := QuantileOf(r.QuorumTimes(q), p), r.Independent(p, q)
	if math.IsInf(joint, 1) || math.IsInf(alone, 1) || alone <= 0 {
		return 1
	}
	return joint / alone
}

// sorted is the answers of a row, in order.
func sorted(row []float64) []float64 {
	s := make([]float64, 0, len(row))
	for _, v := range row {
		if v >= 0 {
			s = append(s, v)
		}
	}
	slices.Sort(s)
	return s
}
