package bench

import "time"

// steadySeconds is how many seconds in a row must agree, as in warp's --autoterm: a run
// that swings has two or three alike by chance, and a slow climb moves by less than a
// few percent in so short a time; in seven it shows. More would only cost time.
const steadySeconds = 7

const steadyLeast = steadySeconds * time.Second // the shortest run that can be steady

// steady reports whether the throughput of each of the last seconds lies within that
// share of their mean.
func steady(series []Interval, share float64) bool {
	first := len(series) - steadySeconds
	if first < 0 {
		return false
	}
	var rates [steadySeconds]float64
	var mean float64
	for i := range rates {
		begin := 0.0
		if first+i > 0 {
			begin = series[first+i-1].TS
		}
		p := series[first+i]
		rates[i] = float64(p.Cycles) / (p.TS - begin) // a late tick makes a long second
		mean += rates[i] / steadySeconds
	}
	for _, rate := range rates {
		if mean == 0 || rate < mean*(1-share) || rate > mean*(1+share) {
			return false
		}
	}
	return true
}
