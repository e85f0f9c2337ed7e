package sizing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"muxlock/bench"
)

// ErrTooLittle is returned when a measurement is too small to size from.
var ErrTooLittle = errors.New("nothing to size from")

// ErrNoHolds is returned when a measurement has no holds.
var ErrNoHolds = errors.New("has no holds")

// FromResults merges results of muxlock, all under cfg and with so many masters.
func FromResults(cfg bench.Config, masters int, results []*bench.Result) (m Measured, err error) {
	m = Measured{Masters: masters, Shared: cfg.Dist != bench.Dist{}}
	for _, r := range results {
		if r.Impl == "muxlock" && r.Totals.Acquired > 0 {
			err = errors.Join(err, m.add(r))
		}
	}
	if err == nil && m.Acquires.Empty() {
		err = fmt.Errorf("%w: no result in which muxlock acquired anything: measure one, for longer than holds last", ErrTooLittle)
	}
	slices.Sort(m.Notes)
	m.Notes = slices.Compact(m.Notes)
	return m, err
}

// add adds a result, as if it had been measured after those before it.
func (m *Measured) add(r *bench.Result) error {
	if r.Client.Stall == nil {
		return fmt.Errorf("%w: the result does not have the stalls of its processes: measure again", ErrTooLittle)
	}
	m.Masters = max(m.Masters, r.Masters)
	if n := r.Safety.Overlaps + r.Safety.FenceViolations; n > 0 {
		m.Invalid = fmt.Sprintf("%d holders overlapped or had a fence that did not grow", n)
	}
	m.Invalid = cmp.Or(m.Invalid, r.Valid.String())
	if p := r.Client.Stall.Peaks; p != nil {
		for _, one := range p.All { // of several processes, so several may be one
			m.Pauses = join(m.Pauses, m.moment(one), 0)
		}
	}
	if p := r.Probe; p != nil {
		for _, one := range p.Slow {
			m.Slow = append(m.Slow, m.moment(one))
		}
		for i, row := range p.Rows {
			if len(row) == m.Masters && i < len(p.AtNs) {
				m.Rounds = append(m.Rounds, Round{At: m.Watched + time.Duration(p.AtNs[i]), Trips: row})
			}
		}
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
		m.Renewed = m.Renewed.Open(r.Holding.Held)
	}
	m.Watched += time.Duration(r.DurationS * 1e9)
	return errors.Join(
		m.Acquires.add(cmp.Or(r.Latency[bench.ValidityUsedTime], r.Latency[bench.AcquireTime])),
		m.Holds.add(r.Latency[bench.HoldTime]))
}

// moment converts a moment of the result that is being added.
func (m *Measured) moment(p bench.Peak) Moment {
	return Moment{At: m.Watched + time.Duration(p.AtNs), Took: time.Duration(p.Ns)}
}

// add adds a figure of a result. Nil adds nothing.
func (t *Times) add(s *bench.Summary) error {
	if s == nil {
		return nil
	}
	h, err := s.Histogram()
	if err != nil {
		return err
	}
	took, counts := t.took, t.counts
	for ns, n := range h.Bars() {
		took, counts = append(took, time.Duration(ns)), append(counts, n)
	}
	*t = Count(took, counts, t.censored+h.Censored())
	return nil
}
