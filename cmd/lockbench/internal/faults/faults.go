// Package faults injects faults into local masters, for a while or all the time: it
// stops, kills or restarts one, takes its data, or delays the replies that a proxy in front
// of it passes on.
//
// A Rig applies the faults to servers that somebody else owns, and undoes them, so
// that a stopped server is never left behind stopped. Times are those of the
// measured time; its Band has when a fault really began and ended.
package faults

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
)

// Fault is one parsed --fault.
type Fault struct {
	Text   string // as it was given
	Kind   Kind
	Master int        // 0-based
	Delay  bench.Span // of Kind Delay
	// Whole is a fault without times: a delay from the first connection to the last,
	// else from a second before the measured time to its end.
	Whole bool
	// From and To are on the clock of the measured time; equal for an event.
	From, To time.Duration
}

// lead is how long before the measured time a fault without times begins, so that
// the first second after it is warm-up.
const lead = time.Second

// Parse reads KIND:K[:ARG][@FROM-TO] or KIND:K@AT; K counts from 1 to masters, the
// times must lie within duration.
func Parse(text string, masters int, duration time.Duration) (f Fault, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%q: %w", text, err)
		}
	}()
	what, when, timed := strings.Cut(text, "@")
	parts := strings.SplitN(what, ":", 3)
	f = Fault{Text: text, Kind: Kind(parts[0])}
	if !slices.Contains(Kinds, f.Kind) || len(parts) < 2 || (len(parts) == 3) != (f.Kind == Delay) {
		return f, errors.New("must be " + Grammar)
	}
	k, err := strconv.Atoi(parts[1])
	if err != nil || k < 1 || k > masters {
		return f, fmt.Errorf("master %q is not in 1..%d", parts[1], masters)
	}
	f.Master = k - 1
	if f.Kind == Delay {
		if f.Delay, err = bench.ParseSpan(parts[2]); err != nil {
			return f, err
		}
	}
	if timed {
		err = f.parseTimes(when, duration)
		return f, err
	}
	if f.Kind.event() {
		return f, fmt.Errorf("%s needs a time: %s", f.Kind, Grammar)
	}
	f.Whole, f.From, f.To = true, -lead, duration
	return f, nil
}

func (f *Fault) parseTimes(when string, duration time.Duration) (err error) {
	from, to, window := strings.Cut(when, "-")
	if f.From, err = time.ParseDuration(from); err != nil {
		return fmt.Errorf("%q is not a time such as 10s or 10s-20s", when)
	}
	f.To = f.From
	switch {
	case window && f.Kind.event():
		return fmt.Errorf("%s is over at once and takes one time, @%s", f.Kind, from)
	case !window && !f.Kind.event():
		return fmt.Errorf("%s needs an end, @%s-%s", f.Kind, from, f.From+time.Second)
	case window:
		if f.To, err = time.ParseDuration(to); err != nil {
			return fmt.Errorf("%q is not a time such as 10s or 10s-20s", when)
		}
		if f.To <= f.From {
			return fmt.Errorf("ends at %s, which is not after its begin at %s", f.To, f.From)
		}
	}
	if f.From < 0 || f.From >= duration || f.To > duration {
		return fmt.Errorf("must lie within the measured time, 0s-%s", duration)
	}
	return nil
}

// Check refuses faults that contradict each other: what stops or kills one server or
// takes its data at the same time. Delays add up.
func Check(list []Fault) error {
	for i, f := range list {
		for _, g := range list[:i] {
			if f.Master == g.Master && f.Kind != Delay && g.Kind != Delay && overlap(f, g) {
				return fmt.Errorf("%q and %q contradict each other: both want master %d at the same time", g.Text, f.Text, f.Master+1)
			}
		}
	}
	return nil
}

// overlap: a fault that ends when the other begins is over; an event takes its instant.
func overlap(f, g Fault) bool {
	return f.From == g.From || f.From < g.To && g.From < f.To
}

// A step is the begin of a fault or its end. An event has only a begin.
type step struct {
	at    time.Duration
	fault int // index of the list
	end   bool
}

// never is when a fault without times ends: with the run.
const never = 1 << 62

// steps is what happens to one master, in order. What ends comes before what begins
// at the same time.
func steps(list []Fault, master int) []step {
	var begins, ends []step
	for i, f := range list {
		if f.Master != master || f.Kind == Delay && f.Whole {
			continue
		}
		begins = append(begins, step{f.From, i, false})
		switch {
		case f.Whole:
			ends = append(ends, step{never, i, true})
		case f.To > f.From:
			ends = append(ends, step{f.To, i, true})
		}
	}
	all := slices.Concat(ends, begins)
	slices.SortStableFunc(all, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return all
}
