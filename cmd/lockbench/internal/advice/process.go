package advice

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
)

// processMost bounds what ReadProcess takes, in bytes: ten times what an engine can write.
const processMost = 4 << 20

// shortSpan is what rarely has a pause in it that decides.
const shortSpan = time.Minute

// ReadProcess reads the JSON of what an engine measured in a user's process. Its error is
// to be read after the name of the file.
func ReadProcess(name string) (*engine.Measurements, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, errors.Unwrap(err) // without the name
	}
	defer f.Close()
	var p engine.Measurements
	var syntax *json.SyntaxError
	switch err := json.NewDecoder(io.LimitReader(f, processMost)).Decode(&p); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("is cut off")
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("is not JSON: %w at byte %d", err, syntax.Offset)
	case err != nil:
		return nil, fmt.Errorf("is not what engine.Engine.Measured returns: %w", err)
	case p.Version == 0:
		return nil, errors.New("is not what engine.Engine.Measured returns, or its engine had no Config.Measure")
	case p.Version != 1:
		return nil, fmt.Errorf("was made by a newer engine: version %d, this one knows 1", p.Version)
	case len(p.Masters) == 0 || p.Span <= 0:
		return nil, errors.New("is damaged: it has no masters or no span_ns")
	}
	return &p, nil
}

// MeasureProcess is Measure of what an engine saw in a user's process. There are no round
// trips to single masters in it, no clocks and no outages, and what they would tell is left
// open.
func MeasureProcess(p *engine.Measurements) (*Measured, error) {
	m := &Measured{
		Impl: "muxlock", Masters: len(p.Masters), Procs: 1, Fencing: p.Fencing,
		Target: []string{"--masters", strings.Join(p.Masters, ",")}, Length: float64(p.Span), Inputs: []Input{},
		shared: p.HandOvers.Count > 0,
	}
	var err error
	read := func(name string, parts ...engine.Durations) (law *sizing.Law) {
		if err != nil {
			return nil
		}
		if law, err = lawOfProcess(p.Span, parts...); err != nil {
			err = fmt.Errorf("is damaged: %ss %w", name, err)
		} else if law != nil {
			m.input(name, "the process, in "+span(p.Span), law)
		}
		return law
	}
	m.Acquire = read("acquire", p.Acquires, p.HandOvers)
	if m.shared {
		m.Attempt = read("attempt", p.Acquires)
	}
	m.Hold = read("hold", p.Holds)
	pause := read("pause", p.Pauses)
	switch {
	case err != nil:
		return nil, err
	case m.Acquire == nil:
		return nil, fmt.Errorf("%w: nothing was acquired", ErrTooLittle)
	}
	m.grants.add(peaksOf(p.Acquires, p.HandOvers), 0)
	m.Acquire = m.Acquire.GroupTail(m.grants.at, m.grants.long, float64(clusterGap), groupsOf(m.Length), sizing.ShapePrior)
	if m.Hold != nil {
		m.RunHold = bench.Exp(time.Duration(m.Hold.Mean())) // to try it with
	}
	if pause != nil {
		m.stalls.add(peaksOf(p.Pauses), 0)
	}
	if p.Span < shortSpan {
		m.warn("the process had measured for %s only: ask it again when it has done a day's work", span(p.Span))
	}
	m.warn("outages of the masters are not in the measurements: what is to be expected is without any; lockbench advise --masters watches for them")
	return m, nil
}

// lawOfProcess takes the longest as they are, and all others as the most that their bucket
// holds. It is nil when there are none.
func lawOfProcess(covered time.Duration, parts ...engine.Durations) (*sizing.Law, error) {
	var values []float64
	var counts []int64
	for _, d := range parts {
		first, left, last := len(values), d.Count, time.Duration(-1)
		for _, b := range d.Buckets {
			if b.Most <= last || b.Count <= 0 || b.Count > left {
				return nil, errors.New("have buckets out of order, or with a wrong count")
			}
			values, counts = append(values, float64(b.Most)), append(counts, b.Count)
			left, last = left-b.Count, b.Most
		}
		if left != 0 {
			return nil, fmt.Errorf("have a count of %d, and %d of them in no bucket", d.Count, left)
		}
		buckets := len(values)
		for _, one := range d.Longest {
			i := first + sort.SearchFloat64s(values[first:buckets], float64(one.Took))
			if one.Took < d.LongestFrom || one.At < 0 || one.At > covered || i == buckets || counts[i] == 0 {
				return nil, fmt.Errorf("have a longest, %s at %s, that is in no bucket or of another time", one.Took, one.At)
			}
			counts[i]--
			values, counts = append(values, float64(one.Took)), append(counts, 1)
		}
	}
	return sizing.Samples(values, counts), nil
}

// peaksOf is the longest of all parts, in the order of their times.
func peaksOf(parts ...engine.Durations) *bench.Peaks {
	p := &bench.Peaks{}
	for _, d := range parts {
		p.FromNs = max(p.FromNs, int64(d.LongestFrom))
		for _, one := range d.Longest {
			p.All = append(p.All, bench.Peak{AtNs: int64(one.At), Ns: int64(one.Took)})
		}
	}
	slices.SortFunc(p.All, func(a, b bench.Peak) int { return cmp.Compare(a.AtNs, b.AtNs) })
	return p
}
