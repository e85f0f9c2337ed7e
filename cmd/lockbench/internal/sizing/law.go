package sizing

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// A Law is how a length of time is distributed: what was measured, with a fitted tail
// where the samples end, or an exact one. It is made once and then only read.
//
// Samples are trusted as far as trusted of them lie beyond; further out the larger of
// what was seen and a tail fitted to the largest of them holds (fitTail). What lies
// beyond 1/n has been seen by nobody: see Extrapolates.
type Law struct {
	n     int64     // samples; 0: exact
	x     []float64 // ascending, without repetition
	above []float64 // above[i] is P(X > x[i]); the last is 0
	tail  tail
	most  float64 // nothing is longer; 0: no such bound
}

// trusted is how many samples must lie beyond a quantile that is read off them.
const trusted = 10

// Samples is the law of measured values, each seen counts[i] times; nil counts: once
// each. It is nil when there are none.
func Samples(values []float64, counts []int64) *Law {
	type point struct {
		x float64
		n int64
	}
	points := make([]point, 0, len(values))
	var total int64
	for i, v := range values {
		c := int64(1)
		if counts != nil {
			c = counts[i]
		}
		if c > 0 {
			points = append(points, point{v, c})
			total += c
		}
	}
	if total == 0 {
		return nil
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	l := &Law{n: total}
	left := total
	for i, p := range points {
		left -= p.n
		if i > 0 && p.x == points[i-1].x {
			l.above[len(l.above)-1] = float64(left) / float64(total)
			continue
		}
		l.x = append(l.x, p.x)
		l.above = append(l.above, float64(left)/float64(total))
	}
	l.tail = fitTail(l, ShapePrior)
	return l
}

// Fixed is the law of what is always x.
func Fixed(x float64) *Law { return &Law{x: []float64{x}, above: []float64{0}} }

// Exact is the law with the given quantile function, as points that are never below it.
func Exact(quantile func(p float64) float64) *Law {
	const (
		step  = 0.95
		least = 1e-13 // what lies beyond counts as lying there
		all   = 4e18
	)
	var values []float64
	var counts []int64
	for last, s := 1.0, step; last > least; last, s = s, max(s*step, least) {
		values, counts = append(values, quantile(1-s)), append(counts, int64((last-s)*all))
	}
	l := Samples(values, counts)
	l.n, l.tail = 0, tail{}
	return l
}

// N is the number of samples; 0: the law is exact.
func (l *Law) N() int64 { return l.n }

// Mean is the mean of the samples.
func (l *Law) Mean() float64 { return l.Moment(1) }

// Max is the largest value seen.
func (l *Law) Max() float64 { return l.x[len(l.x)-1] }

// Moment is the mean of the k-th power.
func (l *Law) Moment(k int) float64 {
	var sum float64
	last := 1.0
	for i, x := range l.x {
		sum += (last - l.above[i]) * math.Pow(x, float64(k))
		last = l.above[i]
	}
	return sum
}

// Extrapolates reports whether probabilities as small as p have not been seen.
func (l *Law) Extrapolates(p float64) bool { return l.n > 0 && p*float64(l.n) < 1 }

// Reaches reports whether the law knows of probabilities as small as p: what was seen,
// and a decade more. Further out a fitted tail is a guess that looks like a figure.
func (l *Law) Reaches(p float64) bool { return l.n == 0 || p*float64(l.n)*reach >= 1 }

const reach = 10

// Bound is UpperQuantile, and where the law does not reach as far the most that it can be,
// if that is known.
func (l *Law) Bound(p float64) float64 {
	if l.most > 0 && !l.Reaches(p) {
		return l.most
	}
	return l.UpperQuantile(p)
}

// SampleSurvival is P(X > t) among the samples alone.
func (l *Law) SampleSurvival(t float64) float64 {
	i := sort.Search(len(l.x), func(i int) bool { return l.x[i] > t })
	if i == 0 {
		return 1
	}
	return l.above[i-1]
}

// Survival is P(X > t).
func (l *Law) Survival(t float64) float64 {
	if l.most > 0 && t >= l.most {
		return 0
	}
	seen := l.SampleSurvival(t)
	if edge := l.edge(); l.n > 0 && seen < edge {
		return max(seen, min(edge, l.tail.survival(t)))
	}
	return seen
}

// UpperQuantile is the value that is exceeded with probability at most p.
func (l *Law) UpperQuantile(p float64) float64 {
	i := sort.Search(len(l.x), func(i int) bool { return l.above[i] <= p })
	x := l.x[min(i, len(l.x)-1)]
	if l.n > 0 && p < l.edge() {
		x = max(x, l.tail.upperQuantile(p))
	}
	if l.most > 0 {
		x = min(x, l.most)
	}
	return x
}

// edge is the probability of exceeding from which on the tail is asked.
func (l *Law) edge() float64 { return min(1, trusted/float64(max(l.n, 1))) }

// cells is the law as a list of values with their masses, each in the midst of its cell
// of probability.
func (l *Law) cells() (x, mass []float64) {
	if len(l.x) == 1 && l.most == 0 {
		return l.x, []float64{1}
	}
	for last, s := 1.0, cellStep; last > cellLeast; last, s = s, s*cellStep {
		x, mass = append(x, l.UpperQuantile(math.Sqrt(last*s))), append(mass, last-s)
	}
	return x, mass
}

// cellStep makes sums right within a few percent, down to cellLeast.
const (
	cellStep  = 0.75
	cellLeast = 1e-10
)

// WithTail is the law with other samples in place of those from one length on.
func (l *Law) WithTail(from float64, longer []float64) *Law {
	var values []float64
	var counts []int64
	last := 1.0
	for i, x := range l.x {
		if x < from {
			values, counts = append(values, x), append(counts, int64(math.Round((last-l.above[i])*float64(l.n))))
		}
		last = l.above[i]
	}
	for _, x := range longer {
		values, counts = append(values, x), append(counts, 1)
	}
	if with := Samples(values, counts); with != nil {
		return with
	}
	return l
}

// Capped is the law with nothing beyond most.
func (l *Law) Capped(most float64) *Law {
	c := *l
	c.most = most
	return &c
}

// Scaled is the law of f times as long a time.
func (l *Law) Scaled(f float64) *Law {
	s := *l
	s.x = slices.Clone(l.x)
	for i := range s.x {
		s.x[i] *= f
	}
	s.tail.from, s.tail.scale, s.most = s.tail.from*f, s.tail.scale*f, s.most*f
	return &s
}
