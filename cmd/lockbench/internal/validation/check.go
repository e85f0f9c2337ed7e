package validation

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"muxlock/cmd/lockbench/internal/sizing"
)

// confidence of each interval.
const confidence = 0.999

// PerSecond is a unit that package bench has no need of.
const PerSecond = "per_s"

// Verdict is what became of a prediction.
type Verdict string

const (
	Within     Verdict = "within"
	Outside    Verdict = "outside"
	Unmeasured Verdict = "not measured" // too few samples to say anything
)

// Estimate is a value with the interval that its samples leave it.
type Estimate struct {
	Value float64 `json:"value"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	N     int64   `json:"n"` // samples; 0: exact, or taken from other samples of the same run
}

// Check is one prediction and what was measured.
type Check struct {
	Case      string   `json:"case"`
	Formula   string   `json:"formula"` // F1 to F18
	Setting   string   `json:"setting"`
	Quantity  string   `json:"quantity"`
	Unit      string   `json:"unit"` // bench.UnitNs, bench.UnitShare or PerSecond
	Predicted Estimate `json:"predicted"`
	Measured  Estimate `json:"measured"`
	Ratio     float64  `json:"ratio"` // measured over predicted; 0 where either is 0
	// Tolerance is the part by which the interval of Predicted is widened on both sides: what
	// the formula leaves out on purpose.
	Tolerance float64 `json:"tolerance"`
	Verdict   Verdict `json:"verdict"`
	// StallP99Ns is how much too late, at p99, a thread woke that slept 1 ms at a time
	// meanwhile.
	StallP99Ns int64 `json:"stall_p99_ns"`
}

// Accepted is what the verdict asks for.
func (c Check) Accepted() string {
	if c.Tolerance > 0 {
		return fmt.Sprintf("interval ±%.0f%%", 100*c.Tolerance)
	}
	return "interval"
}

// fewest samples that are judged.
const fewest = 20

// judge completes a check.
func (c Check) judge() Check {
	p, m := c.Predicted, c.Measured
	if p.Value != 0 {
		c.Ratio = m.Value / p.Value
	}
	switch {
	case math.IsInf(p.Value, 0) || math.IsNaN(p.Value): // which JSON has not
		c.Predicted, c.Ratio, c.Verdict = Estimate{}, 0, Unmeasured
	case m.N < fewest:
		c.Verdict = Unmeasured
	case p.Lo*(1-c.Tolerance) <= m.Hi && m.Lo <= p.Hi*(1+c.Tolerance):
		c.Verdict = Within
	default:
		c.Verdict = Outside
	}
	return c
}

// exact is a prediction without samples.
func exact(v float64) Estimate { return Estimate{Value: v, Lo: v, Hi: v} }

// share is k of n, after Clopper and Pearson.
func share(k, n int64) Estimate {
	if n == 0 {
		return Estimate{Hi: 1}
	}
	lo, hi := sizing.ClopperPearson(k, n, confidence)
	return Estimate{float64(k) / float64(n), lo, hi, n}
}

// withSamples sets how many samples there were when means of parts of them were judged.
func (e Estimate) withSamples(samples int) Estimate {
	if e.N > 0 {
		e.N = int64(samples)
	}
	return e
}

// quantile of independent samples, which it sorts.
func quantile(samples []float64, p float64) Estimate {
	n := len(samples)
	if n == 0 {
		return Estimate{}
	}
	slices.Sort(samples)
	at := func(rank int64) float64 { return samples[min(max(rank, 1), int64(n))-1] }
	lo, hi := sizing.RankInterval(int64(n), p, confidence)
	return Estimate{at(int64(math.Ceil(p * float64(n)))), at(lo), at(hi), int64(n)}
}

// mean of independent samples, by Student's law.
func mean(samples []float64) Estimate {
	n := len(samples)
	if n < 2 {
		return Estimate{}
	}
	m, deviation := stat.MeanStdDev(samples, nil)
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile((1 + confidence) / 2)
	half := t * stat.StdErr(deviation, float64(n))
	return Estimate{m, m - half, m + half, int64(n)}
}
