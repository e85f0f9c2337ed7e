package output

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"muxlock/bench"
)

// Chaos is the summary of a run that tried to break a lock.
func Chaos(w io.Writer, doc Document) error {
	b := &buffer{}
	c, r := doc.Config, doc.Results[0]
	fmt.Fprintf(b, "chaos %s  %s  %s  keys %s  hold %s  ttl %s  seed %d\n",
		r.Impl, masters(c), workers(c), Keys(c), c.Hold, c.TTL, c.Seed)
	fmt.Fprintf(b, "%d faults in %.1fs: %s\n", len(r.Faults), r.DurationS, byKind(r.Faults))
	t := r.Totals
	fmt.Fprintf(b, "acquired %s   refused %s   timeouts %s   errors %s   longest wait %s\n", Number(float64(t.Acquired)),
		Number(float64(t.Refused)), Number(float64(t.Timeouts)), Number(float64(t.Errors)), Duration(float64(r.Fairness.MaxWaitNs)))
	if r.Safety.Overlaps == 0 {
		fmt.Fprintln(b, "overlaps 0: no two held one lock at the same time")
	} else {
		fmt.Fprintf(b, "OVERLAPS %s: two held one lock at the same time\n", Number(float64(r.Safety.Overlaps)))
		example(b, r.History)
		fmt.Fprintf(b, "the events around the first overlap of each key, and the faults: %s\n", c.History)
	}
	for _, reason := range r.Valid.Reasons {
		fmt.Fprintf(b, "NOT VALID %s: %s\n", r.Impl, reason)
	}
	fmt.Fprintf(b, "again: the same with --seed %d\n", c.Seed)
	return b.flush(w)
}

func byKind(bands []bench.Band) string {
	counts := map[string]int{}
	var kinds []string
	for _, b := range bands {
		if counts[b.Kind]++; counts[b.Kind] == 1 {
			kinds = append(kinds, b.Kind)
		}
	}
	slices.Sort(kinds)
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s %d", kind, counts[kind])
	}
	return strings.Join(kinds, ", ")
}

// example is the first overlap.
func example(w io.Writer, events []bench.Event) {
	i := slices.IndexFunc(events, func(e bench.Event) bool { return e.Overlap })
	if i < 0 {
		return
	}
	second := events[i]
	for _, e := range slices.Backward(events) {
		if e.Kind == bench.EventAcquired && e.Key == second.Key && e.Worker != second.Worker && e.ToNs <= second.ToNs && e.UntilNs > second.ToNs {
			fmt.Fprintf(w, "first: %s  worker %d from %.4fs, valid until %.4fs; worker %d from %.4fs\n", e.Key,
				e.Worker, float64(e.ToNs)/1e9, float64(e.UntilNs)/1e9, second.Worker, float64(second.ToNs)/1e9)
			return
		}
	}
}

// History writes the events around overlaps and the faults, one JSON object a line, in
// the order of their begin.
func History(w io.Writer, r *bench.Result) error {
	type fault struct {
		Kind   string `json:"kind"` // fault
		Spec   string `json:"spec"`
		Master int    `json:"master"`
		FromNs int64  `json:"from_ns"`
		ToNs   int64  `json:"to_ns"`
	}
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	faults := r.Faults
	put := func(before int64) (err error) {
		for len(faults) > 0 && int64(faults[0].FromS*1e9) <= before && err == nil {
			f := faults[0]
			err = e.Encode(fault{"fault", f.Spec, f.Master, int64(f.FromS * 1e9), int64(f.ToS * 1e9)})
			faults = faults[1:]
		}
		return err
	}
	for _, event := range r.History {
		if err := put(event.FromNs); err != nil {
			return err
		}
		if err := e.Encode(event); err != nil {
			return err
		}
	}
	if err := put(1 << 62); err != nil {
		return err
	}
	return b.Flush()
}
