package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"muxlock/internal/stats"
)

// A Target is one implementation of a comparison.
type Target struct {
	Name    string
	Masters int // how many masters it locks on, for Result.Masters
	// Config is what it runs under instead of what Compare is given; nil: nothing of
	// its own. Setting is how the two differ, for Result.Setting.
	Config  *Config
	Setting map[string]string
	Open    func(context.Context) (Runner, error) // connects it
}

// Runner is one implementation, connected: a LockRunner, or a load of its own.
type Runner interface {
	// Run follows the rules of the function Run.
	Run(ctx context.Context, cfg Config) (*Result, error)
	Close() error
}

// LockRunner is a Locker under the load of Run.
type LockRunner struct {
	Name string
	Locker
}

// Run loads the locker.
func (r LockRunner) Run(ctx context.Context, cfg Config) (*Result, error) {
	return Run(ctx, r.Name, r.Locker, cfg)
}

// Compare makes a Target.Run of every target once per round, in the order A B C, then
// C B A, and so on, so that a drift of the machine hits all alike.
//
// Results come in the order of the runs. When ctx ends the results so far are
// returned with a nil error, the last with ReasonInterrupted. Other errors:
// ErrConfig before anything was opened; and when a target cannot be opened, run or
// closed, that error with its name, beside the results so far.
func Compare(ctx context.Context, targets []Target, cfg Config, rounds int) ([]*Result, error) {
	if err := validateTargets(targets, cfg, rounds); err != nil {
		return nil, err
	}
	var results []*Result
	for round := 1; round <= rounds; round++ {
		order := slices.Clone(targets)
		if round%2 == 0 {
			slices.Reverse(order)
		}
		for _, t := range order {
			if ctx.Err() != nil {
				return results, nil
			}
			r, err := t.Run(ctx, cfg, round)
			if r != nil {
				results = append(results, r)
			}
			if err != nil && ctx.Err() == nil {
				return results, t.Failed(err)
			}
		}
	}
	return results, nil
}

// Failed returns the error with the target's name, if that is not in front of it already, and
// its setting.
func (t Target) Failed(err error) error {
	if !strings.HasPrefix(err.Error(), t.Name+":") {
		err = fmt.Errorf("%s: %w", t.Name, err)
	}
	if len(t.Setting) > 0 {
		err = fmt.Errorf("%s: %w", SettingText(t.Setting), err)
	}
	return err
}

// Run opens the target, runs it as one of a round, which counts from 1, and closes it, so
// that it carries no marks of an earlier run. All targets of a round get the seed
// cfg.Seed+round-1. Errors and the end of ctx are as in Runner; a result beside an error is
// what was measured before it.
func (t Target) Run(ctx context.Context, cfg Config, round int) (res *Result, err error) {
	place := func(r *Result) {
		if r != nil {
			r.Round, r.Masters, r.Setting = round, t.Masters, t.Setting
		}
	}
	if t.Config != nil {
		cfg = *t.Config
	}
	cfg.Seed += uint64(round - 1)
	if progress := cfg.Progress; progress != nil {
		cfg.Progress = func(p Progress) {
			p.Round, p.Setting = round, t.Setting
			place(p.Result)
			progress(p)
		}
	}
	r, err := t.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	res, err = r.Run(ctx, cfg)
	place(res)
	return res, err
}

func validateTargets(targets []Target, cfg Config, rounds int) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if rounds < 1 {
		return wrong("", "rounds", "must be at least 1, got %d", rounds)
	}
	if len(targets) == 0 {
		return wrong("", "impl", "names no implementation")
	}
	for i, t := range targets {
		if t.Config != nil {
			if err := t.Config.Validate(); err != nil {
				return err
			}
		}
		if slices.ContainsFunc(targets[:i], func(u Target) bool { return u.Name == t.Name && maps.Equal(u.Setting, t.Setting) }) {
			return wrong("", "impl", "names %s twice", t.Name)
		}
	}
	return nil
}

// Relative is one implementation against the reference: for each figure the
// ratio within a round, then the median of the rounds and their spread. Above 1
// means more than the reference, which is good for throughput alone. A figure
// that no round had on both sides is absent.
type Relative struct {
	Impl        string `json:"impl"`
	Reference   string `json:"reference"`
	Rounds      int    `json:"rounds"`  // rounds that both finished
	Latency     string `json:"latency"` // what p50 and p99 are of: response or cycle
	Throughput  *Ratio `json:"throughput,omitempty"`
	P50         *Ratio `json:"p50,omitempty"`
	P99         *Ratio `json:"p99,omitempty"`
	CPUPerOp    *Ratio `json:"cpu_per_op,omitempty"`
	AllocsPerOp *Ratio `json:"allocs_per_op,omitempty"`
}

// Ratio over rounds.
type Ratio struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	// CI is the 95 % interval of the median, low and high, by bootstrap. Absent, as is
	// P, when so few rounds cannot distinguish a difference from chance.
	CI []float64 `json:"ci,omitempty"`
	// P is the two-sided p-value of Mann and Whitney's test over the figures themselves.
	P           *float64 `json:"p_value,omitempty"`
	Significant bool     `json:"significant"` // P below 0.05
}

// RelativeTo compares every implementation in results with the one named
// reference, in order of first appearance, the reference itself included (its
// ratios are 1). Interrupted runs are left out. No result of the reference: no
// rows.
func RelativeTo(reference string, results []*Result) []Relative {
	byImpl := map[string]map[int]*Result{}
	var impls []string
	for _, r := range results {
		if r.Interrupted() {
			continue
		}
		if byImpl[r.Impl] == nil {
			byImpl[r.Impl] = map[int]*Result{}
			impls = append(impls, r.Impl)
		}
		byImpl[r.Impl][r.Round] = r
	}
	ref := byImpl[reference]
	rows := []Relative{}
	if ref == nil {
		return rows
	}
	for _, impl := range impls {
		rows = append(rows, relative(impl, reference, byImpl[impl], ref))
	}
	return rows
}

func relative(impl, reference string, own, ref map[int]*Result) Relative {
	row := Relative{Impl: impl, Reference: reference, Latency: "cycle"}
	shown := []struct {
		Figure
		to **Ratio
		pairs
	}{
		{Figure: MustFigure("throughput"), to: &row.Throughput},
		{Figure: Headline.P("50"), to: &row.P50},
		{Figure: Headline.P("99"), to: &row.P99},
		{Figure: MustFigure("cpu_ns_per_op"), to: &row.CPUPerOp},
		{Figure: MustFigure("allocs_per_op"), to: &row.AllocsPerOp},
	}
	for _, round := range slices.Sorted(maps.Keys(own)) {
		a, b := own[round], ref[round]
		if b == nil {
			continue
		}
		row.Rounds++
		if a.Latency.Response != nil {
			row.Latency = "response"
		}
		for i := range shown {
			v, measured := shown[i].Measured(a)
			base, known := shown[i].Measured(b)
			if measured && known {
				shown[i].add(v, base)
			}
		}
	}
	for i := range shown {
		*shown[i].to = shown[i].ratio()
	}
	return row
}

// pairs is a figure of two implementations in the rounds that have it of both.
type pairs struct{ own, ref, ratios []float64 }

// add leaves out what cannot be divided.
func (p *pairs) add(own, ref float64) {
	if ref != 0 {
		p.own, p.ref, p.ratios = append(p.own, own), append(p.ref, ref), append(p.ratios, own/ref)
	}
}

func (p *pairs) ratio() *Ratio {
	n := len(p.ratios)
	if n == 0 {
		return nil
	}
	r := &Ratio{Median: stats.Median(p.ratios), Min: slices.Min(p.ratios), Max: slices.Max(p.ratios)}
	if stats.LeastP(n, n) < stats.Alpha {
		low, high := stats.MedianInterval(p.ratios)
		test := stats.MannWhitney(p.own, p.ref)
		r.CI, r.P, r.Significant = []float64{low, high}, &test, test < stats.Alpha
	}
	return r
}
