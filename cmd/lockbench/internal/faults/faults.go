// Package faults hurts local masters on purpose: it stops one, or puts a proxy
// that answers late in front of one.
//
// A Rig applies the faults to servers that somebody else owns, and undoes them, so
// that a stopped server is never left behind stopped.
package faults

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind is what a fault does.
type Kind string

const (
	Stop  Kind = "stop"  // SIGSTOP during the measured time and the second before it
	Delay Kind = "delay" // a proxy delivers every reply late, all the time
)

// Fault is one parsed --fault.
type Fault struct {
	Kind   Kind
	Master int // 0-based
	Delay  time.Duration
}

// Parse reads "stop:K" or "delay:K:50ms"; K counts from 1 to masters.
func Parse(s string, masters int) (Fault, error) {
	parts := strings.Split(s, ":")
	kind := Kind(parts[0])
	switch {
	case kind == Stop && len(parts) == 2, kind == Delay && len(parts) == 3:
	default:
		return Fault{}, fmt.Errorf("%q is neither stop:K nor delay:K:DURATION (stop:1, delay:2:50ms)", s)
	}
	k, err := strconv.Atoi(parts[1])
	if err != nil || k < 1 || k > masters {
		return Fault{}, fmt.Errorf("%q: master %q is not in 1..%d", s, parts[1], masters)
	}
	f := Fault{Kind: kind, Master: k - 1}
	if kind == Delay {
		if f.Delay, err = time.ParseDuration(parts[2]); err != nil {
			return Fault{}, fmt.Errorf("%q: %w", s, err)
		}
		if f.Delay < 0 {
			return Fault{}, fmt.Errorf("%q: the delay is negative", s)
		}
	}
	return f, nil
}
