package advice

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
)

// HoldLaw is the law that a span draws from, given by its text: 5ms, exp:5ms or
// lognormal:5ms,SIGMA; of samples it is theirs.
func HoldLaw(s bench.Span) (*sizing.Law, error) {
	if times := s.Samples(); times != nil {
		values := make([]float64, len(times))
		for i, d := range times {
			values[i] = float64(d)
		}
		return sizing.Samples(values, nil), nil
	}
	kind, args, drawn := strings.Cut(s.String(), ":")
	if !drawn {
		return sizing.Fixed(float64(s.Mean())), nil
	}
	first, second, _ := strings.Cut(args, ",")
	d, err := time.ParseDuration(first)
	if err != nil || d <= 0 {
		return nil, fmt.Errorf("hold %s has no length", s)
	}
	switch kind {
	case "exp":
		return sizing.Exact(distuv.Exponential{Rate: 1 / float64(d)}.Quantile), nil
	case "lognormal":
		sigma, err := strconv.ParseFloat(second, 64)
		if err == nil && sigma > 0 {
			return sizing.Exact(distuv.LogNormal{Mu: math.Log(float64(d)), Sigma: sigma}.Quantile), nil
		}
		return sizing.Fixed(float64(d)), nil
	}
	return nil, fmt.Errorf("hold %s is of a kind that advice does not know", s)
}
