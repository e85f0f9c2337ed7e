package metrics

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"muxlock/engine"
)

// Wait, Hold and Release are the histograms of what the Observer sees. They have the label class only if the
// service names classes.
var (
	Wait    = Instrument{Name: "muxlock.wait", Unit: "s", Kind: Histogram, Help: "Time from asking for a lock to getting it, or to the error that result stands for."}
	Hold    = Instrument{Name: "muxlock.hold", Unit: "s", Kind: Histogram, Help: "Time from getting a lock to its Release."}
	Release = Instrument{Name: "muxlock.release", Unit: "s", Kind: Histogram, Help: "Time that a Release took which asked the masters."}
)

// Buckets are the upper bounds of the histograms, in seconds.
var Buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// Observer returns an Observer that records seconds. class may be nil. The recorders then get no class, else
// one.
func Observer(class func(name string) string, wait func(s float64, result string, class ...string), hold, release func(s float64, class ...string)) *engine.Observer {
	c := classes{of: class, seen: make(map[string]bool)}
	return &engine.Observer{
		Acquired: func(name string, d time.Duration, _ int) {
			wait(d.Seconds(), "acquired", c.label(name)...)
		},
		NotAcquired: func(name string, d time.Duration, _ int, err error) {
			wait(d.Seconds(), Result(err), c.label(name)...)
		},
		Released: func(name string, d time.Duration, _ bool, _ error) {
			hold(d.Seconds(), c.label(name)...)
		},
		ReleaseTook: func(name string, d time.Duration, _ error) {
			release(d.Seconds(), c.label(name)...)
		},
	}
}

// Result returns the label of an acquire's error: that of its last attempt, if it made one. The order
// matters: an attempt's causes, and errors joined to it, match only later entries.
func Result(err error) string {
	for _, r := range []struct {
		err  error
		name string
	}{
		{engine.ErrTaken, "taken"},
		{engine.ErrNoQuorum, "no_quorum"},
		{engine.ErrExpired, "expired"},
		{engine.ErrDenied, "denied"},
		{engine.ErrOverloaded, "overloaded"},
		{engine.ErrClosed, "closed"},
		{engine.ErrNotHeld, "not_held"},
		{engine.ErrInvalid, "invalid"},
		{context.Canceled, "ctx_ended"},
		{context.DeadlineExceeded, "ctx_ended"},
	} {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	return "other"
}

// MaxClasses bounds the values of the label class. All further ones become OtherClass.
const (
	MaxClasses = 100
	OtherClass = "other"
)

// classes bounds the values that a service's function returns: a series lives as long as the process.
type classes struct {
	of   func(name string) string
	mu   sync.Mutex // guards seen; one Observer may be given to several engines
	seen map[string]bool
}

// label returns one class, or none if nothing names them.
func (c *classes) label(name string) []string {
	if c.of == nil {
		return nil
	}
	class := strings.ToValidUTF8(c.of(name), "?")
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.seen[class] && len(c.seen) == MaxClasses {
		return []string{OtherClass}
	}
	c.seen[class] = true
	return []string{class}
}
