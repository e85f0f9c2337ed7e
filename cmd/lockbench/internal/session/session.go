// Package session is one use of masters: it finds or starts them, lets implementations load
// them, with faults and probes beside the load, and makes a document of the results.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/live"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/usage"
	"muxlock/internal/redisserver"
)

// distant is the distance of masters from which on connection pools grow with the workers.
const distant = time.Millisecond

// Session is masters that can be loaded. Close lets them go.
type Session struct {
	Set     *masters.Set
	Addrs   []string // by which they are reached: their own, or those of proxies in front of them
	rig     *faults.Rig
	clients map[string]rivals.Client // what the implementations ran on
	show    func(bench.Progress)     // may be nil
}

// Open gets the masters that a plan asks for, with its faults.
func Open(ctx context.Context, p *plan.Plan, log io.Writer) (*Session, error) {
	set, err := start(ctx, p, log)
	if err != nil {
		return nil, err
	}
	s := &Session{Set: set, Addrs: set.Addrs, rig: &faults.Rig{}, clients: map[string]rivals.Client{}}
	if len(p.Faults) > 0 {
		if s.rig, err = faults.NewRig(p.Faults, set.Servers); err != nil {
			return nil, errors.Join(err, set.Close())
		}
		s.Addrs = s.rig.Addrs()
	}
	return s, nil
}

// Close ends the faults, and stops the servers that Open started.
func (s *Session) Close() error {
	return errors.Join(s.rig.Close(), s.Set.Close())
}

// start gets the masters themselves. Only when the user did not ask for any does a missing
// server program lead to embedded ones.
func start(ctx context.Context, p *plan.Plan, log io.Writer) (*masters.Set, error) {
	m := p.Masters
	switch m.Kind {
	case masters.Given:
		return masters.Use(ctx, m.Given)
	case masters.Local:
		set, err := masters.StartLocal(ctx, m.Count, redisserver.Options{Programs: m.Programs})
		if !errors.Is(err, redisserver.ErrNoBinary) || m.Chosen {
			return set, err
		}
		fmt.Fprintln(log, err)
		if len(p.Faults) > 0 {
			return nil, usage.Errorf("--fault needs local masters: %w", err)
		}
	}
	fmt.Fprintf(log, "EMBEDDED MASTERS: %d in-process miniredis. The locks are real, the SPEED MEANS NOTHING.\n", m.Count)
	return masters.StartEmbedded(m.Count)
}

// Runs makes runs in a session and returns their results, also beside an error.
type Runs func(context.Context, *Session) ([]*bench.Result, error)

// Measure opens a session for runs and closes it. The document holds the results so far,
// also beside an error; it is nil when no run could begin.
func Measure(ctx context.Context, p *plan.Plan, log io.Writer, runs Runs) (_ *result.Document, err error) {
	s, err := Open(ctx, p, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if slices.Contains(p.Impls, raw.Name) {
		fmt.Fprintf(log, "raw: %s\n", raw.Caveat)
	}
	if err := tryOut(ctx, s.Targets(p)); err != nil {
		return nil, err
	}
	progress := log
	if p.Output.Quiet {
		progress = io.Discard
	}
	line := live.NewLine(progress, p.Rounds)
	defer line.End() // also when something panics
	s.show = line.Show
	results, err := runs(ctx, s)
	line.End()
	for _, r := range results {
		if s.Set.Kind == masters.Embedded {
			r.Invalidate(result.EmbeddedReason)
		}
		for _, o := range p.Objectives {
			r.SLO = append(r.SLO, o.Judge(r))
		}
	}
	return s.document(p, results), err
}

// Rounds is every implementation of a plan in turn.
func Rounds(p *plan.Plan) Runs {
	return func(ctx context.Context, s *Session) ([]*bench.Result, error) {
		return InTurn(ctx, s.Targets(p), p.Rounds)
	}
}
