package advice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
)

// processMost bounds what ReadProcess takes, in bytes: ten times what an engine can write.
const processMost = 4 << 20

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
		shared: true, // as far as is known
	}
	laws := map[string]*sizing.Law{}
	for _, part := range []struct {
		name string
		of   engine.Durations
	}{{"acquire", p.Acquires}, {"hold", p.Holds}, {"pause", p.Pauses}} {
		law, err := lawOfProcess(part.of, p.Span)
		if err != nil {
			return nil, fmt.Errorf("is damaged: %ss %w", part.name, err)
		}
		if law != nil {
			m.input(part.name, "the process, in "+span(p.Span), law)
		}
		laws[part.name] = law
	}
	if m.Acquire = laws["acquire"]; m.Acquire == nil {
		return nil, fmt.Errorf("%w: nothing was acquired", ErrTooLittle)
	}
	m.grants.add(peaksOf(p.Acquires), 0)
	m.Acquire = m.Acquire.GroupTail(m.grants.at, m.grants.long, float64(clusterGap), groupsOf(m.Length), sizing.ShapePrior)
	if m.Hold = laws["hold"]; m.Hold != nil {
		m.RunHold = bench.Exp(time.Duration(m.Hold.Mean())) // to try it with
	}
	if laws["pause"] != nil {
		m.stalls.add(peaksOf(p.Pauses), 0)
	}
	m.warn("a process does not see outages of its masters: expected is as if there were none. lockbench advise --masters watches them")
	return m, nil
}

// lawOfProcess takes the longest as they are, and all others as the most that their bucket
// holds. It is nil when there are none.
func lawOfProcess(d engine.Durations, covered time.Duration) (*sizing.Law, error) {
	var values []float64
	var counts []int64
	total, last := int64(0), time.Duration(-1)
	for _, b := range d.Buckets {
		if b.Most <= last || b.Count <= 0 || b.Count > math.MaxInt64-total {
			return nil, errors.New("have buckets out of order, or without a count")
		}
		values, counts = append(values, float64(b.Most)), append(counts, b.Count)
		total, last = total+b.Count, b.Most
	}
	if total != d.Count {
		return nil, fmt.Errorf("have a count of %d, and %d in their buckets", d.Count, total)
	}
	for _, one := range d.Longest {
		i := sort.SearchFloat64s(values[:len(d.Buckets)], float64(one.Took))
		if one.Took < d.LongestFrom || one.At < 0 || one.At > covered || i == len(d.Buckets) || counts[i] == 0 {
			return nil, fmt.Errorf("have a longest, %s at %s, that is in no bucket or of another time", one.Took, one.At)
		}
		counts[i]--
		values, counts = append(values, float64(one.Took)), append(counts, 1)
	}
	return sizing.Samples(values, counts), nil
}

func peaksOf(d engine.Durations) *bench.Peaks {
	p := &bench.Peaks{FromNs: int64(d.LongestFrom)}
	for _, one := range d.Longest {
		p.All = append(p.All, bench.Peak{AtNs: int64(one.At), Ns: int64(one.Took)})
	}
	return p
}
