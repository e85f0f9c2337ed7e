package engine

import (
	"context"
	"errors"
	"fmt"

	"muxlock/internal/findings"
	"muxlock/internal/oneline"
	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// A Finding is one thing that Check looked at. Check names it in a word or two ("eviction"), for
// programs, Text says what was found, and ToDo what helps, if anything has to be done.
// Masters are places in Config.Masters, from 1; none: all of them together.
type Finding = findings.Finding

// Level is how bad a finding is: the higher, the worse.
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
// lockbench doctor finds more, in more time: round trips, clocks, this machine.
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
	stats := e.pipe.Stats().Masters
	asked := make([]findings.Master, len(masters))
	for i, m := range masters {
		asked[i] = findings.Master{Address: m.Address, Option: m.Option, Trial: func(context.Context) error { return away(stats[i]) }}
	}
	all := findings.Collect(ctx, asked)
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	return Report{e.judge(all, stats), len(masters)}, nil
}

// away returns why the engine has set a master aside, nil if it has not: it tried each with a
// lock when it admitted it.
func away(m pipeline.MasterStats) error {
	switch {
	case m.Up:
		return nil
	case m.Cause == nil:
		return errors.New("it is not connected")
	}
	return m.Cause
}

func (e *Engine) judge(all []findings.Facts, stats []pipeline.MasterStats) []Finding {
	up := 0
	for _, m := range stats {
		if m.Up {
			up++
		}
	}
	var each []Finding
	for i, f := range all {
		f.Vote = vote(stats[i])
		found := findings.OfMaster(f)
		if e.cfg.MastersAreDurable && f.Err == nil {
			found = append(found, asserted(f))
		}
		for _, g := range found {
			if (g.Check == "reachable" || g.Check == "permissions") && g.Level == LevelFail && up >= quorum.Size(len(all)) {
				g.Level = LevelWarn
			}
			g.Masters = []int{i + 1}
			each = append(each, g)
		}
	}
	return findings.Grouped(append(findings.OfSet(all), findings.InOrder(findings.Grouped(each))...))
}

// vote is whether a master votes on new locks.
func vote(m pipeline.MasterStats) Finding {
	f := Finding{Level: LevelWarn, Check: "vote"}
	switch {
	case !m.Up:
		f.Text, f.ToDo = "none: it is set aside", "it comes back by itself once it can be reached and admitted"
	case errors.Is(m.Cause, ErrConfigMismatch):
		f.Level, f.Text, f.ToDo = LevelFail, fmt.Sprintf("none: %v", m.Cause), "configure all processes alike"
	case m.Cause != nil:
		f.Text, f.ToDo = fmt.Sprintf("none yet: %v", m.Cause), "wait: Ready"
	default:
		f.Level, f.Text = LevelOK, "it votes on new locks"
	}
	return f
}

// asserted is whether what Config.MastersAreDurable asserts is so.
func asserted(f findings.Facts) Finding {
	d := Finding{Level: LevelOK, Check: "durable", Text: "as MastersAreDurable asserts"}
	switch durable, known := f.Durable(); {
	case !known:
		d.Level, d.Text = LevelUnknown, "MastersAreDurable is set; whether it is true is not known (CONFIG is not permitted)"
	case !durable:
		d.Level, d.Text, d.ToDo = LevelFail, "MastersAreDurable is set, but it may forget locks when it restarts, and grant them again", "appendonly yes and appendfsync always, or leave it false"
	}
	return d
}
