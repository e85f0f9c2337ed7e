package engine

import (
	"context"
	"fmt"

	"muxlock/internal/findings"
	"muxlock/internal/oneline"
)

// A Finding is one thing that Check looked at.
//
//	type Finding struct {
//		Level   Level
//		Check   string // what was looked at, in a word or two, for programs: "eviction"
//		Masters []int  // places in Config.Masters, from 1; none: all of them together
//		Text    string // what was found
//		ToDo    string // what helps, if anything has to be done
//	}
type Finding = findings.Finding

// Level is how bad a finding is: the higher, the worse, from LevelOK to LevelFail. It prints as OK,
// ?, WARN or FAIL, in JSON too.
//
//	type Level int
type Level = findings.Level

// Levels of a finding.
const (
	LevelOK      = findings.OK
	LevelUnknown = findings.Unknown // it could not be found out; mostly for want of a permission
	LevelWarn    = findings.Warn    // slow, or safe only as long as something else holds
	LevelFail    = findings.Fail    // no lock should rely on it
)

// Report is what Check found. Masters of which the same is found share a finding.
type Report struct {
	Findings []Finding
	masters  int
}

// Err returns nil if a service may rely on the masters, else an error that matches ErrUnfit and
// has every finding at LevelFail.
func (r Report) Err() error {
	var failed []error
	for _, f := range r.Findings {
		if f.Level == LevelFail {
			failed = append(failed, fmt.Errorf("%s (master %s): %s -> %s", f.Check, f.Who(r.masters), f.Text, f.ToDo))
		}
	}
	if failed == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnfit, oneline.Join(failed...))
}

// Check looks at all masters for what makes locks on them unsafe or slow: eviction, replicas and
// Sentinels, cluster mode, one server under two addresses, persistence beside
// Config.MastersAreDurable, permissions, versions, slow commands, who casts no vote. So a service
// can refuse to start on a bad set: Report.Err. A minority that is away is a warning.
// muxlock doctor finds more, in more time: round trips and clocks.
//
// It opens a connection of its own to each master, changes nothing there, and asks all at
// once, for about 5 s at most. The functions in Config.Client are called and waited for. ctx ends it,
// but a connection that is being made may first take its time. What the ACL forbids to
// look at is LevelUnknown. Errors: ErrClosed; ctx's error.
func (e *Engine) Check(ctx context.Context) (Report, error) {
	select {
	case <-e.closing:
		return Report{}, ErrClosed
	default:
	}
	masters, err := parseMasters(e.cfg.Masters, e.cfg.Client)
	if err != nil {
		return Report{}, err
	}
	found, err := findings.Check(ctx, masters, e.pipe.Stats().Masters, e.cfg.MastersAreDurable)
	if err != nil {
		return Report{}, err
	}
	return Report{found, len(masters)}, nil
}
