// Package faults injects faults into local masters and into the processes that lock on them, for
// a while or for the whole run.
//
// A Rig applies the faults to servers of its caller, and undoes them: no server stays stopped.
// Times count from the start of the measured time. A Band has the times at which a fault
// really began and ended.
package faults

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
)

// Fault is one parsed --fault.
type Fault struct {
	Text   string // as given
	Kind   Kind
	Master int        // 0-based; -1: none
	Client int        // 0-based, of Pause, Crash and Blackhole
	Delay  bench.Span // Kind Delay only
	// Whole marks a fault without times. A delay then lasts from the first connection to the
	// last; another fault lasts from a second before the measured time to its end.
	Whole bool
	// From and To count from the start of the measured time. They are equal for an event. A fault without times ends
	// with the run.
	From, To time.Duration
}

// A fault without times begins lead before the measured time, so that its first second is
// warm-up.
const lead = time.Second

// Run has what Parse must know about a run.
type Run struct {
	Masters, Clients int // Clients: processes; 0: the load is in this one
	Duration         time.Duration
}

// Parse parses KIND:K[:ARG][@FROM-TO] or KIND:K@AT. Masters and clients count from 1; the times
// must lie within the run.
func Parse(text string, run Run) (f Fault, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%q: %w", text, err)
		}
	}()
	what, when, timed := strings.Cut(text, "@")
	parts := strings.SplitN(what, ":", 3)
	f = Fault{Text: text, Kind: Kind(parts[0]), Master: -1}
	if !slices.Contains(Kinds, f.Kind) || len(parts) < 2 || (len(parts) == 3) != (f.Kind == Delay || f.Kind == Blackhole) {
		return f, errors.New("must be " + Grammar)
	}
	if !f.Kind.ofClient() {
		if f.Master, err = number("master", parts[1], run.Masters); err != nil {
			return f, err
		}
	}
	switch {
	case f.Kind == Delay:
		f.Delay, err = bench.ParseSpan(parts[2])
	case f.Kind == Replica && run.Masters == 1:
		err = errors.New("needs another master, whose data it takes")
	case f.Kind.NeedsClients():
		f.Client, err = number("process", parts[len(parts)-1], run.Clients)
	}
	if err != nil {
		return f, err
	}
	switch {
	case timed:
		err = f.parseTimes(when, run.Duration)
	case f.Kind.mayBeWhole():
		f.Whole, f.From, f.To = true, -lead, math.MaxInt64
	default:
		err = fmt.Errorf("%s needs a time: %s", f.Kind, Grammar)
	}
	return f, err
}

// number returns a number of 1 to most, less one.
func number(what, text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if most == 0 {
		return 0, fmt.Errorf("%s %s needs --procs 2 or more", what, text)
	}
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s %q is not in 1..%d", what, text, most)
	}
	return n - 1, nil
}

func (f *Fault) parseTimes(when string, duration time.Duration) error {
	from, to, window := strings.Cut(when, "-")
	if !window {
		to = from
	}
	var errFrom, errTo error
	f.From, errFrom = time.ParseDuration(from)
	f.To, errTo = time.ParseDuration(to)
	switch {
	case errFrom != nil || errTo != nil:
		return fmt.Errorf("%q is not a time such as 10s or 10s-20s", when)
	case window && f.Kind.event():
		return fmt.Errorf("%s is over at once and takes one time, @%s", f.Kind, from)
	case !window && !f.Kind.event():
		return fmt.Errorf("%s needs an end, @%s-%s", f.Kind, from, f.From+time.Second)
	case window && f.To <= f.From:
		return fmt.Errorf("ends at %s, which is not after its start at %s", f.To, f.From)
	case f.From < 0 || f.From >= duration || f.To > duration:
		return fmt.Errorf("must lie within the measured time, 0s-%s", duration)
	}
	return nil
}

// Check refuses faults that contradict each other: two of one process at the same time. Faults of
// connections do not; delays add up.
func Check(list []Fault) error {
	for i, f := range list {
		for _, g := range list[:i] {
			overlap := f.From == g.From || f.From < g.To && g.From < f.To // not if one ends when the other begins
			if overlap && !f.Kind.proxied() && !g.Kind.proxied() && f.subject() == g.subject() {
				return fmt.Errorf("%q and %q contradict each other: both want %s at the same time", g.Text, f.Text, f.subject())
			}
		}
	}
	return nil
}

// subject names the process that the fault is about.
func (f Fault) subject() string {
	if f.Kind.ofClient() {
		return fmt.Sprintf("process %d", f.Client+1)
	}
	return fmt.Sprintf("master %d", f.Master+1)
}

// always reports whether the fault lasts from the first connection to the last.
func (f Fault) always() bool { return f.Kind == Delay && f.Whole }
