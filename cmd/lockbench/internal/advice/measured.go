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
	Rate    float64 // 0: a closed loop
	Fencing bool
	Target  []string // flags that get such masters again
	Load    []string // flags of the load, as --name=value, where it was the user's own

	Length  float64     // how long was measured, ns
	Acquire *sizing.Law // Delta: what a winning attempt uses up
	Attempt *sizing.Law // the same without locks that were handed over; nil: there are none
	Release *sizing.Law // nil: unknown
	Hold    *sizing.Law // nil: not held for a time
	Stall   *sizing.Law // of each 10 ms; nil: not measured
	Rows    sizing.Rows // empty: the masters were not probed
	Quorum  *sizing.Law // of their round trips; nil: there are none
	Probed  []bench.Master

	grants timed // the longest of Acquire
	stalls timed
	rowsAt []float64
	trips  []float64 // quorum time of each row; +Inf: none
	shared bool      // locks were handed over within the process

	hotRate float64 // acquisitions a second of the busiest name that the load asked for; 0: of none
	cost    *Cost   // nil: unknown

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
	m := &Measured{Impl: impl, Procs: max(cfg.Procs, 1), TTL: cfg.TTL, RunHold: cfg.Hold, Op: cfg.Op, Workers: cfg.Workers, Rate: cfg.Rate, Inputs: []Input{}}
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
			rows := sizing.NewRows(p.Rows)
			m.Rows = append(m.Rows, rows...)
			m.rowsAt = append(m.rowsAt, timesOf(rows, p.AtNs, m.Length, r.DurationS*1e9)...)
		}
		if used := r.Latency.ValidityUsed; used != nil {
			m.grants.add(used.Peaks, m.Length)
		}
		if s := r.Client.Stall; s != nil {
			m.stalls.add(s.Peaks, m.Length)
		}
		m.Length += r.DurationS * 1e9
	}
	m.shared = cfg.Dist != bench.Dist{}
	m.hotRate, m.cost = cfg.Rate*cfg.Dist.Hottest(cfg.Keys), costOf(of)
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
		m.Rows, m.rowsAt = nil, nil
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
		m.trips = m.Rows.QuorumTimes(quorum.Size(m.Masters))
		if m.Quorum, _ = m.Rows.QuorumTime(quorum.Size(m.Masters)); m.Quorum != nil {
			m.input("quorum of round trips", "probe.rows", m.Quorum)
		}
	}
	return m, nil
}

// acquire finds what a winning attempt uses up of its validity: the client's share and
// its queues are part of it, which round trips do not show. Results of before that was
// measured have the time until held.
func (m *Measured) acquire(cfg bench.RunConfig, pick func(string, string, func(*bench.Result) *bench.Summary) *sizing.Law) error {
	const name = "acquire"
	if m.Acquire = pick(name, "latency.validity_used", func(r *bench.Result) *bench.Summary { return r.Latency.ValidityUsed }); m.Acquire != nil {
		m.Acquire = m.Acquire.GroupTail(m.grants.at, m.grants.long, float64(clusterGap), groupsOf(m.Length), sizing.ShapePrior)
		return nil
	}
	m.warn("the result does not hold what validity was used up: the time until held stands for it, with the attempts that failed in it, which is too long")
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

// timed is the longest of a figure, in the order of their times: all from one length on.
type timed struct {
	known    bool
	from     float64
	at, long []float64
}

// add puts those of a round behind those before, which ended at after.
func (t *timed) add(p *bench.Peaks, after float64) {
	if p == nil {
		return
	}
	t.known, t.from = true, max(t.from, float64(p.FromNs))
	for _, k := range p.All {
		t.at, t.long = append(t.at, after+float64(k.AtNs)), append(t.long, float64(k.Ns))
	}
	n := 0
	for i, long := range t.long {
		if long >= t.from {
			t.at[n], t.long[n] = t.at[i], long
			n++
		}
	}
	t.at, t.long = t.at[:n], t.long[:n]
}

// clusterGap is how soon after a stall another one belongs to it.
const clusterGap = 100 * time.Millisecond

// met is those of stalls, which come in groups, that a hold of that length meets in a
// measurement of that length. Where there is none at all one is assumed, of the length
// from which on they are counted.
func (t timed) met(during, length, shape float64) sizing.Pauses {
	each, starting := sizing.Met(t.at, t.long, during, float64(clusterGap), groupsOf(length), shape)
	if each == nil {
		each, starting = sizing.Samples([]float64{t.from}, nil), during
	}
	return sizing.Pauses{Each: each, Moments: starting / max(length, 1), Least: t.from}
}

// groupsOf is how many groups can be told apart in a measurement of that length.
func groupsOf(length float64) int { return max(int(length/float64(5*clusterGap)), 1) }

// picked is those that a drawn measurement has.
func (t timed) picked(b sizing.Blocks) timed {
	p := timed{known: t.known, from: t.from}
	picked, when := b.Pick(t.at)
	p.at = when
	for _, i := range picked {
		p.long = append(p.long, t.long[i])
	}
	return p
}

// timesOf is when rows began; older results do not say, and spread them evenly.
func timesOf(rows sizing.Rows, at []int64, after, length float64) []float64 {
	times := make([]float64, len(rows))
	for i := range rows {
		times[i] = after + length*float64(i)/float64(len(rows))
		if len(at) == len(rows) {
			times[i] = after + float64(at[i])
		}
	}
	return times
}

func ns(x float64) int64 {
	if !(x < math.MaxInt64/2) { // infinite too
		return math.MaxInt64 / 2
	}
	return int64(x)
}
