package sizing

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"muxlock/bench"
)

// ErrTooLittle is returned when a measurement is too small to size from.
var ErrTooLittle = errors.New("nothing to size from")

// ErrNoHolds is returned when a measurement has no holds.
var ErrNoHolds = errors.New("has no holds")

// FromResults merges results of muxlock, all under cfg and with so many masters.
func FromResults(cfg bench.Config, masters int, results []*bench.Result) (Measured, error) {
	m := Measured{Masters: masters, Shared: cfg.Dist != bench.Dist{}}
	of := slices.DeleteFunc(slices.Clone(results), func(r *bench.Result) bool { return r.Impl != "muxlock" || r.Totals.Acquired == 0 })
	if len(of) == 0 {
		return m, fmt.Errorf("%w: no result in which muxlock acquired anything: measure one, for longer than holds last", ErrTooLittle)
	}
	kept := int64(0)
	for _, r := range of {
		if r.Client.Stall == nil {
			return m, fmt.Errorf("%w: the result does not have the stalls of its processes: measure again", ErrTooLittle)
		}
		m.Masters = max(m.Masters, r.Masters)
		if n := r.Safety.Overlaps + r.Safety.FenceViolations; n > 0 {
			m.Invalid = fmt.Sprintf("%d holders overlapped or had a fence that did not grow", n)
		}
		m.Invalid = cmp.Or(m.Invalid, r.Valid.String())
		if p := r.Client.Stall.Peaks; p != nil {
			for _, k := range p.All { // of several processes, so several may be one
				m.Pauses = join(m.Pauses, Moment{At: m.Watched + time.Duration(k.AtNs), Took: time.Duration(k.Ns)}, 0)
			}
		}
		if p := r.Probe; p != nil {
			m.addRounds(p)
			if n := len(p.Slow) - 1; n >= 0 && p.Slow[n].Ns < 0 && p.Slow[n].AtNs-p.Slow[n].Ns > int64((r.DurationS-1)*1e9) {
				m.Notes = append(m.Notes, "no quorum answered at the end of the measurement: that outage lasts for longer than was seen")
			}
		}
		for _, one := range r.PerMaster {
			if one.Clock != nil {
				m.Clocks = append(m.Clocks, *one.Clock)
			}
			if one.Lost > 0 || one.Down > 0 {
				m.Notes = append(m.Notes, "master "+one.Addr+" did not answer some probes")
			}
		}
		if r.Holding != nil {
			kept += r.Holding.Held
		}
		m.Watched += time.Duration(r.DurationS * 1e9)
	}
	slices.Sort(m.Notes)
	m.Notes = slices.Compact(m.Notes)
	var err error
	read := func(figure func(*bench.Result) *bench.Summary) Times {
		t, wrong := timesOf(of, figure)
		err = errors.Join(err, wrong)
		return t
	}
	m.Acquires = read(func(r *bench.Result) *bench.Summary {
		return cmp.Or(r.Latency[bench.ValidityUsedTime], r.Latency[bench.AcquireTime])
	})
	m.Holds = read(func(r *bench.Result) *bench.Summary { return r.Latency[bench.HoldTime] })
	m.Renewed = Count(nil, nil, kept)
	return m, err
}

func (m *Measured) addRounds(p *bench.Probe) {
	for _, s := range p.Slow {
		m.Slow = append(m.Slow, Moment{At: m.Watched + time.Duration(s.AtNs), Took: time.Duration(s.Ns)})
	}
	for i, row := range p.Rows {
		if len(row) == m.Masters && i < len(p.AtNs) {
			m.Rounds = append(m.Rounds, Round{At: m.Watched + time.Duration(p.AtNs[i]), Trips: row})
		}
	}
}

// timesOf merges one figure of several results.
func timesOf(results []*bench.Result, figure func(*bench.Result) *bench.Summary) (Times, error) {
	var took []time.Duration
	var counts []int64
	censored := int64(0)
	for _, r := range results {
		s := figure(r)
		if s == nil || s.Count == 0 {
			continue
		}
		h, err := s.Histogram()
		if err != nil {
			return Times{}, err
		}
		for ns, n := range h.Bars() {
			took, counts = append(took, time.Duration(ns)), append(counts, n)
		}
		censored += s.Censored
	}
	return Count(took, counts, censored), nil
}

// Process is what sizes are made from of an engine.Measurements, in its JSON form: who reads a result needs no engine.
type Process struct {
	Version      int           `json:"version"`
	Span         time.Duration `json:"span_ns"`
	Masters      []string      `json:"masters"`
	Fencing      bool          `json:"fencing"`
	MaxTTL       time.Duration `json:"max_ttl_ns"`
	Groups       int           `json:"groups"`
	Acquires     durations     `json:"acquires"`
	HandOvers    durations     `json:"hand_overs"`
	Holds        durations     `json:"holds"`
	RenewedHolds durations     `json:"renewed_holds"`
	Renewed      int64         `json:"renewed"`
	LongestTTL   time.Duration `json:"longest_ttl_ns"`
	Pauses       durations     `json:"pauses"`
}

type durations struct {
	Count   int64    `json:"count"`
	Buckets []bucket `json:"buckets"`
	Longest []Moment `json:"longest"`
}

type bucket struct {
	Most  time.Duration `json:"most_ns"`
	Count int64         `json:"count"`
}

// ReadProcess reads the JSON of an engine's measurements in a user's process. The caller puts the
// name of the file before its error.
func ReadProcess(name string) (p Process, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return p, errors.Unwrap(err) // without the name
	}
	switch err := json.Unmarshal(text, &p); {
	case err != nil:
		return p, fmt.Errorf("is not what engine.Engine.Measured returns: %w", err)
	case p.Version != 1:
		return p, fmt.Errorf("is of version %d, and not 1: not what engine.Engine.Measured returns, or without Config.Measure, or of another engine", p.Version)
	case len(p.Masters) == 0 || p.Span <= 0:
		return p, errors.New("is damaged: it has no masters or no span_ns")
	}
	return p, nil
}

// FromProcess converts the measurements of an engine in a user's process. They lack round trips
// to single masters, clocks and outages.
func FromProcess(p Process) (m Measured, err error) {
	m = Measured{Masters: len(p.Masters), Fencing: p.Fencing, Shared: p.HandOvers.Count > 0, MaxTTL: p.MaxTTL, LongestTTL: p.LongestTTL, Watched: p.Span, Pauses: p.Pauses.Longest}
	read := func(name string, d durations, but Measured) Times {
		t, wrong := timesOfProcess(d, but.paused)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("is damaged: %ss %w", name, wrong))
		}
		return t
	}
	// Size adds the pauses to all of these.
	m.Acquires, m.HandOvers = read("acquire", p.Acquires, m), read("hand-over", p.HandOvers, m)
	m.Holds, m.Renewed = read("hold", p.Holds, m), read("renewed hold", p.RenewedHolds, m)
	kept := max(p.Renewed-m.Renewed.n, 0)                                               // not released: yet, or ever
	underWay := 2 * int64(float64(m.Holds.n)*m.Holds.Mean().Seconds()/p.Span.Seconds()) // twice the mean at any moment
	open := max(m.Acquires.n+m.HandOvers.n-m.Holds.n-m.Renewed.n-kept-underWay, 0)
	m.Renewed = Count(m.Renewed.took, m.Renewed.counts, kept)
	if m.Holds.n > 0 {
		m.Holds = Count(m.Holds.took, m.Holds.counts, open)
	}
	if err == nil && len(m.Acquires.took) == 0 {
		err = fmt.Errorf("%w: nothing was acquired: measure while the process locks", ErrTooLittle)
	}
	return m, err
}

// timesOfProcess takes the longest times as they are, less the time in which they were paused, and all
// others at the upper end of their bucket.
func timesOfProcess(d durations, paused func(Moment) time.Duration) (Times, error) {
	var took []time.Duration
	var counts []int64
	last := time.Duration(-1)
	for _, b := range d.Buckets {
		n := b.Count
		for _, one := range d.Longest {
			if last < one.Took && one.Took <= b.Most {
				took, counts, n = append(took, one.Took-paused(Moment{one.At - one.Took, one.Took})), append(counts, 1), n-1
			}
		}
		if b.Most <= last || n < 0 {
			return Times{}, errors.New("have buckets out of order, or with a wrong count")
		}
		took, counts, last = append(took, b.Most), append(counts, n), b.Most
	}
	t := Count(took, counts, 0)
	if t.n != d.Count {
		return t, fmt.Errorf("have a count of %d, and %d in their buckets", d.Count, t.n)
	}
	return t, nil
}
