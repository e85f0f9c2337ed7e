package result

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
)

// Objective is one service level objective: a figure, a comparison and a limit, such as
// response.p99<5ms.
type Objective struct {
	text   string
	figure Figure
	op     string
	limit  float64
}

var objectiveText = regexp.MustCompile(`^(.*?)\s*(<=|>=|==|<|>)\s*(.*)$`)

// ParseObjective parses FIGURE OP VALUE. FIGURE is a figure, or mean, min, max or any percentile of
// a latency in Timings (cycle.p99.9). OP is < <= > >= or ==. VALUE has a unit for a time (5ms), may
// end in % for a share, and in k or M for a number. The error matches ErrConfig and lists the
// figures.
func ParseObjective(s string) (Objective, error) {
	parts := objectiveText.FindStringSubmatch(strings.TrimSpace(s))
	if parts == nil {
		return Objective{}, wrong("%q has no comparison; write FIGURE OP VALUE with < <= > >= or ==, such as response.p99<5ms", s)
	}
	name, op, value := parts[1], parts[2], parts[3]
	f, err := FindFigure(name)
	if err != nil {
		return Objective{}, wrong("%v", err)
	}
	limit, err := parseLimit(value, f.Unit)
	if err != nil {
		return Objective{}, wrong("%s%s%s: %v", name, op, value, err)
	}
	o := Objective{name + op + value, f, op, limit}
	if o.bounds() { // enough to show the limit if no operation counts against it
		o.figure.samples = int64(min(math.Ceil(math.Log(1-sizing.Confidence)/math.Log1p(-limit)), 1<<62))
	}
	return o, nil
}

// Implied returns the objectives that any given objective implies: operations get their locks, and
// in an open loop at the offered rate. Otherwise a latency means little. Where a refusal is an
// answer, no rate of locks follows. A given objective about the same figure replaces an implied one.
func Implied(given []Objective, cfg bench.Config) (more []Objective) {
	texts := []string{"failure_rate<=1%", "goodput>=95%"}
	if cfg.Op.Tries() {
		texts = texts[:1]
	}
	for _, text := range texts {
		o := must(ParseObjective(text))
		same := func(g Objective) bool { return g.figure.Name == o.figure.Name }
		if o.Possible(cfg) == nil && !slices.ContainsFunc(given, same) {
			more = append(more, o)
		}
	}
	return more
}

// wrong returns an error about --slo.
func wrong(format string, args ...any) error {
	return &bench.ConfigError{Flag: "slo", Reason: fmt.Sprintf(format, args...)}
}

// parseLimit parses a value in the unit of the figure.
func parseLimit(s, unit string) (v float64, err error) {
	switch unit {
	case bench.UnitNs:
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return 0, fmt.Errorf("%q is not a time such as 5ms or 800us", s)
		}
		return float64(d), nil
	case bench.UnitShare:
		number, percent := strings.CutSuffix(s, "%")
		if v, err = strconv.ParseFloat(number, 64); percent {
			v /= 100
		}
		if err != nil || !(v >= 0 && v <= 1) {
			return 0, fmt.Errorf("%q is not a share such as 0.1%% or 0.001", s)
		}
		return v, nil
	}
	if v, err = ParseNumber(s); err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a number such as 0.9, 300 or 5k", s)
	}
	return v, nil
}

// ParseNumber parses a number that may end in k or M.
func ParseNumber(s string) (float64, error) {
	factor := 1.0
	if number, thousands := strings.CutSuffix(s, "k"); thousands {
		s, factor = number, 1e3
	} else if number, millions := strings.CutSuffix(s, "M"); millions {
		s, factor = number, 1e6
	}
	v, err := strconv.ParseFloat(s, 64)
	return v * factor, err
}

// String returns the objective without spaces.
func (o Objective) String() string { return o.text }

// Possible returns an error if a run of cfg cannot have the figure. The error matches ErrConfig
// and says what cfg lacks.
func (o Objective) Possible(cfg bench.Config) error {
	for _, need := range o.figure.needs {
		if !need.Met(cfg) {
			return wrong("%s needs %s", o.text, need.What)
		}
	}
	return nil
}

// OfAudit reports whether only an audited run has the figure.
func (o Objective) OfAudit() bool { return o.of("overlaps", "fence_violations") }

// OfLoss reports whether it limits how many locks lose their validity.
func (o Objective) OfLoss() bool {
	return o.of("outlived", "outlived_rate", "lost_validity", "lost_validity_rate")
}

func (o Objective) of(figures ...string) bool { return slices.Contains(figures, o.figure.Name) }

// Judge judges a result by the objective.
func (o Objective) Judge(r *bench.Result) bench.SLO {
	s := bench.SLO{Text: o.text, Unit: o.figure.Unit, Limit: o.limit}
	v := o.figure.read(r)
	if s.Reason = cmp.Or(v.none, v.thin); s.Reason != "" {
		return s
	}
	s.Value, s.AtLeast = v.value, v.atLeast
	holds := map[string]bool{
		"<": s.Value < o.limit, "<=": s.Value <= o.limit, "==": s.Value == o.limit, ">": s.Value > o.limit, ">=": s.Value >= o.limit,
	}
	s.Pass = holds[o.op] && (!s.AtLeast || o.op[0] == '>') // a lower bound meets no upper limit
	if s.Pass && o.bounds() {
		if most := sizing.AtMost(v.part, v.whole); most > o.limit {
			s.Pass, s.Reason = false, fmt.Sprintf("%d of %d may be up to %.2g%%, with 95 %%: it takes more operations", v.part, v.whole, 100*most)
		}
	}
	return s
}

// bounds reports whether the objective is an upper limit for a share of operations. It passes if
// the 95 % upper bound of the share does.
func (o Objective) bounds() bool {
	return o.figure.counted && o.op[0] == '<' && o.limit > 0
}

// Samples returns the number of operations that a run needs to be judged by the objective.
func (o Objective) Samples() int64 { return o.figure.samples }
