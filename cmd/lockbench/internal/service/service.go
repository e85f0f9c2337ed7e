// Package service reads what a user's process measured of itself, for package sizing.
package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
)

// Read reads the JSON of engine.Engine.Measured. The caller puts the name of the file before its error.
func Read(name string) (p engine.Measurements, err error) {
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

// Measured converts the measurements of an engine. They lack round trips to single masters, clocks and outages.
func Measured(p engine.Measurements) (m sizing.Measured, err error) {
	m = sizing.Measured{Masters: len(p.Masters), Fencing: p.Fencing, Shared: p.HandOvers.Count > 0, MaxTTL: p.MaxTTL, LongestTTL: p.LongestTTL, Watched: p.Span}
	for _, one := range p.Pauses.Longest {
		m.Pauses = append(m.Pauses, sizing.Moment(one))
	}
	for _, of := range []struct {
		name string
		from engine.Durations
		to   *sizing.Times
	}{{"acquires", p.Acquires, &m.Acquires}, {"hand-overs", p.HandOvers, &m.HandOvers}, {"holds", p.Holds, &m.Holds}, {"renewed holds", p.RenewedHolds, &m.Renewed}} {
		if *of.to, err = times(of.from, m); err != nil {
			return m, fmt.Errorf("is damaged: %s %w", of.name, err)
		}
	}
	kept := max(p.Renewed-p.RenewedHolds.Count, 0)                                          // not released: yet, or ever
	underWay := 2 * int64(float64(p.Holds.Count)*m.Holds.Mean().Seconds()/p.Span.Seconds()) // twice the mean at any moment
	m.Renewed = m.Renewed.Open(kept)
	if p.Holds.Count > 0 {
		m.Holds = m.Holds.Open(max(p.Acquires.Count+p.HandOvers.Count-p.Holds.Count-p.RenewedHolds.Count-kept-underWay, 0))
	}
	if p.Acquires.Count == 0 {
		err = fmt.Errorf("%w: nothing was acquired: measure while the process locks", sizing.ErrTooLittle)
	}
	return m, err
}

// times takes the longest times as they are, less the time in which they were paused, since sizing adds that. It
// takes all others at the upper end of their bucket.
func times(d engine.Durations, m sizing.Measured) (sizing.Times, error) {
	var took []time.Duration
	var counts []int64
	sum, last := int64(0), time.Duration(-1)
	for _, b := range d.Buckets {
		n := b.Count
		for _, one := range d.Longest {
			if last < one.Took && one.Took <= b.Most {
				took, counts, n = append(took, one.Took-m.Paused(one.At-one.Took, one.Took)), append(counts, 1), n-1
			}
		}
		if b.Most <= last || n < 0 {
			return sizing.Times{}, errors.New("have buckets out of order, or with a wrong count")
		}
		took, counts, last, sum = append(took, b.Most), append(counts, n), b.Most, sum+b.Count
	}
	if sum != d.Count {
		return sizing.Times{}, fmt.Errorf("have a count of %d, and %d in their buckets", d.Count, sum)
	}
	return sizing.Count(took, counts, 0), nil
}
