package bench

import (
	"encoding/json"
	"slices"
)

// A Timing is one latency of a run, an index into Latencies. Latencies are of operations that got their lock, unless
// it says otherwise.
type Timing int

// The latencies, in the order of tables. A new one needs a name here, a row in timings and a call of Record.
const (
	// ResponseTime is intended start to held, of all operations offered, but for those that were
	// refused and have not failed. One that failed is censored: its response is at least its
	// wait.
	ResponseTime Timing = iota
	WaitTime            // intended start to actual start
	// LagTime is how late the generator began an operation for which a worker stood ready. It is
	// part of WaitTime.
	LagTime
	AcquireTime // actual start to held; in JSON also as service
	ReleaseTime // Release called to its verdict
	CycleTime   // acquire and release, without hold and think
	ExtendTime  // no part of the cycle
	// HoldTime is from the return of Acquire to the call of Release, late wake-ups included. A
	// hold cut off by the end of the drain is censored.
	HoldTime
	// HandoverTime is from the last holder's call of Release to the return of an Acquire that
	// was waiting: the time that the lock itself adds. The last holder was in the same process.
	HandoverTime
	RemoteHandoverTime // the same with the last holder in another process
	// UncontendedTime is the acquire of a name that no worker wants, one at a time, now and then,
	// beside the load.
	UncontendedTime
	// ValidityUsedTime is the part of the validity that was used up when Acquire returned: the
	// time since the winning attempt began. Only of lockers that are an Allower, and not of locks
	// that another process may have passed on with a short lease.
	ValidityUsedTime
	timingCount
)

var timings = [timingCount]struct {
	name  string // in JSON
	needs []Need
}{
	ResponseTime:       {"response", []Need{OpenLoop}},
	WaitTime:           {"wait", []Need{OpenLoop}},
	LagTime:            {"lag", []Need{OpenLoop}},
	AcquireTime:        {"acquire", nil},
	ReleaseTime:        {"release", nil},
	CycleTime:          {"cycle", nil},
	ExtendTime:         {"extend", []Need{Extends}},
	HoldTime:           {"hold", []Need{Holds}},
	HandoverTime:       {"handover", []Need{Waiting}},
	RemoteHandoverTime: {"handover_remote", []Need{Waiting, SeveralProcs}},
	UncontendedTime:    {"uncontended", []Need{Waiting}},
	ValidityUsedTime:   {"validity_used", nil},
}

// Need is what a Config must have for some figures.
type Need struct {
	Met  func(Config) bool
	What string // such as: an open loop (--rate)
}

// The needs of latencies.
var (
	OpenLoop     = Need{func(c Config) bool { return c.Rate > 0 }, "an open loop (--rate)"}
	Waiting      = Need{Config.Waits, "workers that wait for shared names (--keys)"}
	SeveralProcs = Need{func(c Config) bool { return c.Procs > 1 }, "several processes (--procs)"}
	Extends      = Need{func(c Config) bool { return c.Op.Extends() }, "extends: --op mix:acquire-release=90,extend=10"}
	Holds        = Need{func(c Config) bool { return c.Hold.Mean() > 0 && c.Op != Hold }, "locks that are held (--hold)"}
)

// Timings returns all latencies, in the order of tables.
func Timings() (all []Timing) {
	for t := range timingCount {
		all = append(all, t)
	}
	return all
}

// String returns the name in JSON.
func (t Timing) String() string { return timings[t].name }

// Needs returns what a Config must have for the latency to be measured.
func (t Timing) Needs() []Need { return timings[t].needs }

// Latencies has the figures of all latencies. One that was not measured is nil, and absent in JSON.
type Latencies [timingCount]*Summary

// serviceName is a second name of AcquireTime in JSON, beside response and wait.
const serviceName = "service"

// MarshalJSON writes an object, by the names of the latencies.
func (l Latencies) MarshalJSON() ([]byte, error) {
	named := map[string]*Summary{}
	for t, s := range l {
		if s != nil {
			named[timings[t].name] = s
		}
	}
	if s := l[AcquireTime]; s != nil {
		named[serviceName] = s
	}
	return json.Marshal(named)
}

// UnmarshalJSON reads what MarshalJSON writes, and ignores names that it does not know.
func (l *Latencies) UnmarshalJSON(b []byte) error {
	var named map[string]*Summary
	err := json.Unmarshal(b, &named)
	for t, row := range timings {
		l[t] = named[row.name]
	}
	return err
}

// hists are the histograms of a shard or of a run; nil: not measured.
type hists [timingCount]*Histogram

func newHists(cfg Config) (h hists) {
	for t, row := range timings {
		if !slices.ContainsFunc(row.needs, func(n Need) bool { return !n.Met(cfg) }) {
			h[t] = NewHistogram()
		}
	}
	return h
}

func (h *hists) reset() {
	for _, one := range h {
		if one != nil {
			one.reset()
		}
	}
}

func (h *hists) summaries() (l Latencies) {
	for t := range h {
		l[t] = h[t].Summary()
	}
	if h[ValidityUsedTime].Count() == 0 { // the locker is no Allower
		l[ValidityUsedTime] = nil
	}
	return l
}
