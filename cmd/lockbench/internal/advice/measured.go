package advice

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/quorum"
)

// ErrTooLittle is returned by Measure when a result does not hold what advice rests on.
var ErrTooLittle = errors.New("nothing to size from")

// Measured is what was seen, of all rounds of one implementation together.
type Measured struct {
	Impl    string
	Masters int
	Procs   int
	TTL     time.Duration // of the run, as are the next
	RunHold bench.Span
	Op      bench.Op
	Workers int
	Fencing bool
	Target  []string // flags that get such masters again
	Load    []string // flags of the load, as --name=value, where it was the user's own

	Acquire *sizing.Law // Delta
	Release *sizing.Law // nil: unknown
	Hold    *sizing.Law // nil: not held for a time
	Stall   *sizing.Law // of each 10 ms; nil: not measured
	Rows    sizing.Rows // empty: the masters were not probed
	Probed  []bench.Master

	Acquired, Lost, Late int64 // of the run, under TTL
	Inputs               []Input
	Warnings             []string
}

// Input is one thing that was measured, or assumed.
type Input struct {
	Name  string `json:"name"`
	From  string `json:"from"` // which figure of the result, or where it was assumed
	Count int64  `json:"count"`
	P50   int64  `json:"p50_ns"`
	P99   int64  `json:"p99_ns"`
	Max   int64  `json:"max_ns"`
}

// Measure reads the results of impl, all under cfg.
func Measure(impl string, cfg bench.RunConfig, results []*bench.Result) (*Measured, error) {
	m := &Measured{Impl: impl, Procs: max(cfg.Procs, 1), TTL: cfg.TTL, RunHold: cfg.Hold, Op: cfg.Op, Workers: cfg.Workers, Inputs: []Input{}}
	var of []*bench.Result
	for _, r := range results {
		if r.Impl == impl {
			of = append(of, r)
		}
	}
	if len(of) == 0 {
		return nil, fmt.Errorf("%w: no result of %s", ErrTooLittle, impl)
	}
	for _, r := range of {
		if from, to, found := r.Outage(cfg.Config); found {
			return nil, fmt.Errorf("%w: nothing was acquired from %.0f s to %.0f s of round %d", ErrTooLittle, from, to, r.Round)
		}
		m.Masters = max(m.Masters, r.Masters)
		m.Acquired += r.Totals.Acquired
		m.Lost += r.Totals.LostValidity
		m.Late += r.Totals.LateQuorum
		if r.Safety.Overlaps > 0 {
			m.warn("round %d let %d holders overlap: mend that first", r.Round, r.Safety.Overlaps)
		}
		if r.Safety.FenceViolations > 0 {
			m.warn("round %d gave %d locks a fence that did not grow: mend that first", r.Round, r.Safety.FenceViolations)
		}
		for _, reason := range r.Valid.Reasons {
			m.warn("round %d: the measurement was not valid: %s", r.Round, reason)
		}
		for _, one := range r.PerMaster {
			if one.Lost > 0 || one.Down > 0 {
				m.warn("round %d: master %s did not answer %d probes and was down for %.2g%% of the time: find out why, or measure again", r.Round, one.Addr, one.Lost, 100*one.Down)
			}
		}
		if p := r.Probe; p != nil && (len(m.Rows) == 0 || len(p.Rows) > 0 && len(p.Rows[0]) == m.Rows.Masters()) {
			m.Rows = append(m.Rows, sizing.NewRows(p.Rows)...)
		}
	}
	m.Probed = of[len(of)-1].PerMaster
	if m.Masters == 0 {
		m.Masters = max(m.Rows.Masters(), len(cfg.Masters))
	}
	if m.Masters == 0 {
		return nil, fmt.Errorf("%w: the result does not have how many masters there were", ErrTooLittle)
	}
	if m.Acquired == 0 {
		return nil, fmt.Errorf("%w: nothing was acquired", ErrTooLittle)
	}
	if m.Rows.Masters() != m.Masters {
		m.Rows = nil
	}
	pick := func(name, from string, figure func(*bench.Result) *bench.Summary) *sizing.Law {
		law, coarse := lawOf(of, figure)
		if law != nil {
			m.input(name, from, law)
		}
		if coarse {
			m.warn("%s comes from percentiles alone: the result holds no histogram of it", name)
		}
		return law
	}
	if err := m.acquire(cfg, pick); err != nil {
		return nil, err
	}
	m.Release = pick("release", "latency.release", func(r *bench.Result) *bench.Summary { return r.Latency.Release })
	m.Hold = pick("hold", "latency.hold", func(r *bench.Result) *bench.Summary { return r.Latency.Hold })
	m.Stall = pick("stall", "client.stall, each 10 ms", func(r *bench.Result) *bench.Summary { return r.Client.Stall })
	if len(m.Rows) > 0 {
		if law, _ := m.Rows.QuorumTime(quorum.Size(m.Masters)); law != nil {
			m.input("quorum of round trips", "probe.rows", law)
		}
	}
	return m, nil
}

// acquire finds the time that an acquire takes where nobody contends: the client's
// share and its queues are part of it, which round trips do not show.
func (m *Measured) acquire(cfg bench.RunConfig, pick func(string, string, func(*bench.Result) *bench.Summary) *sizing.Law) error {
	const name = "acquire"
	m.Acquire = pick(name, "latency.uncontended", func(r *bench.Result) *bench.Summary { return r.Latency.Uncontended })
	all := func(r *bench.Result) *bench.Summary { return r.Latency.Acquire }
	if m.Acquire == nil && cfg.Dist == (bench.Dist{}) {
		m.Acquire = pick(name, "latency.acquire, own names", all)
	}
	if m.Acquire == nil && len(m.Rows) > 0 {
		if m.Acquire, _ = m.Rows.QuorumTime(quorum.Size(m.Masters)); m.Acquire != nil {
			m.input(name, "probe.rows", m.Acquire)
			m.warn("acquires were timed by round trips alone, without what the client adds under load")
		}
	}
	if m.Acquire == nil {
		if m.Acquire = pick(name, "latency.acquire, shared names", all); m.Acquire != nil {
			m.warn("acquires were timed with the wait for other holders in them: too long, so that the TTL is too")
		}
	}
	if m.Acquire == nil {
		return fmt.Errorf("%w: nothing was acquired", ErrTooLittle)
	}
	return nil
}

func (m *Measured) input(name, from string, l *sizing.Law) {
	m.Inputs = append(m.Inputs, Input{
		Name: name, From: from, Count: l.N(),
		P50: ns(min(l.UpperQuantile(0.5), l.Max())), P99: ns(min(l.UpperQuantile(0.01), l.Max())), Max: ns(l.Max()),
	})
}

func (m *Measured) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.Warnings, text) {
		m.Warnings = append(m.Warnings, text)
	}
}

// lawOf merges one figure of several results. It is coarse when a histogram was
// missing: then what lies between two percentiles counts as the upper one.
func lawOf(results []*bench.Result, figure func(*bench.Result) *bench.Summary) (law *sizing.Law, coarse bool) {
	var values []float64
	var counts []int64
	for _, r := range results {
		s := figure(r)
		if s == nil || s.Count <= 0 {
			continue
		}
		if h, err := s.Histogram(); err == nil && h.Count() > 0 {
			for value, count := range h.Bars() {
				values, counts = append(values, float64(value)), append(counts, count)
			}
			continue
		}
		coarse = true
		left := s.Count
		for _, p := range []struct {
			name  string
			above float64
		}{{"50", 0.5}, {"90", 0.1}, {"99", 0.01}, {"99.9", 0.001}, {"99.99", 0.0001}} {
			above := int64(math.Ceil(float64(s.Count) * p.above))
			if s.P[p.name] > 0 && above < left {
				values, counts = append(values, float64(s.P[p.name])), append(counts, left-above)
				left = above
			}
		}
		values, counts = append(values, float64(s.Max)), append(counts, left)
	}
	return sizing.Samples(values, counts), coarse
}

func ns(x float64) int64 {
	if !(x < math.MaxInt64/2) { // infinite too
		return math.MaxInt64 / 2
	}
	return int64(x)
}
