// Package session makes runs on masters. It finds or starts the masters, runs implementations on
// them with faults and probes beside the load, and makes a document of the results.
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
	"muxlock/internal/redisserver"
	"muxlock/internal/usage"
)

// At this distance of the masters, and beyond, connection pools grow with the workers.
const distant = time.Millisecond

// Session has masters that are ready for runs. The caller must Close it.
type Session struct {
	Set     *masters.Set
	Addrs   []string        // of the masters, or of proxies in front of them
	Results []*bench.Result // of all runs, in their order
	connect Connect
	rig     *faults.Rig
	clients map[string]result.Client // by implementation
	show    func(bench.Progress)     // may be nil
}

// New makes a session on masters that have no faults.
func New(set *masters.Set, connect Connect) *Session {
	return &Session{Set: set, Addrs: set.Addrs, connect: connect, rig: &faults.Rig{}, clients: map[string]result.Client{}}
}

// Opener makes the session of a plan, with its faults.
type Opener func(ctx context.Context, p *plan.Plan, log io.Writer) (*Session, error)

// Open finds or starts the masters of a plan.
func Open(ctx context.Context, p *plan.Plan, log io.Writer) (*Session, error) {
	set, err := start(ctx, p, log)
	if err != nil {
		return nil, err
	}
	s := New(set, nil)
	s.connect = s.real
	if len(p.Faults) > 0 {
		if s.rig, err = faults.NewRig(p.Faults, set.Servers); err != nil {
			return nil, errors.Join(err, set.Close())
		}
		s.Addrs = s.rig.Addrs()
	}
	return s, nil
}

// Close removes the proxies and stops the servers that Open started.
func (s *Session) Close() error {
	return errors.Join(s.rig.Close(), s.Set.Close())
}

// start finds or starts the masters. Without a server program it starts embedded masters, unless
// the user chose others.
func start(ctx context.Context, p *plan.Plan, log io.Writer) (*masters.Set, error) {
	m := p.Masters
	switch m.Target {
	case result.Given:
		return masters.Use(ctx, m.Given)
	case result.Local:
		set, err := masters.StartLocal(ctx, m.Count, redisserver.Options{Programs: p.Programs, Args: faults.ServerArgs(p.Faults)})
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

// Runs makes runs in a session; nil: every implementation at every setting, in turn.
type Runs func(context.Context, *Session) error

// Measure opens a session, makes the runs and closes it. The document has the results so far, also
// with an error. It is nil if no run could begin.
func (open Opener) Measure(ctx context.Context, p *plan.Plan, log io.Writer, runs Runs) (_ *result.Document, err error) {
	s, err := open(ctx, p, log)
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
	defer line.End() // also after a panic
	s.show = line.Show
	if runs != nil {
		err = runs(ctx, s)
	} else {
		err = s.rounds(ctx, p)
	}
	line.End()
	for _, r := range s.Results {
		if s.Set.Kind == result.Embedded {
			r.Invalidate(result.ReasonEmbedded, "")
		}
		for _, o := range p.Objectives {
			r.SLO = append(r.SLO, o.Judge(r))
		}
	}
	return s.document(p), err
}

// rounds runs every implementation at every setting, in turn: a drift of the machine affects all settings alike.
func (s *Session) rounds(ctx context.Context, p *plan.Plan) error {
	var targets []Target
	for _, one := range p.All() {
		targets = append(targets, s.Targets(one)...)
	}
	return s.InTurn(ctx, targets, p.Rounds)
}
