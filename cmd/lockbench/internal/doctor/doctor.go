// Package doctor looks for what makes locks on given masters unsafe or slow, before
// anybody relies on them: what engine.Engine.Check looks for (internal/findings), and round
// trips, clocks and this machine.
//
// Nothing on a master is changed, but for the engine's own trial lock: one key of a random
// name, that is released again and would expire after a second or two.
package doctor

import (
	"context"
	"os"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/probe"
	"muxlock/engine"
	"muxlock/internal/findings"
	"muxlock/internal/redlock"
)

// Options of an examination.
type Options struct {
	For    time.Duration // how long round trips and clocks are watched
	MaxTTL time.Duration // engine.Config.MaxTTL of those who will lock: how long a restarted master is waited for
	New    bool          // the masters have never granted a lock, and need not be waited for
}

// Report is everything that was found.
type Report struct {
	Findings  []findings.Finding `json:"findings"`
	PerMaster []bench.Master     `json:"per_master"`
}

// Examine looks at masters, all at once, and at this machine. It blocks for the time
// that Options give and a few seconds more at most. That a master cannot be reached is
// a finding; the only errors are an address that is none, and the end of ctx.
func Examine(ctx context.Context, addrs []string, o Options) (*Report, error) {
	asked := make([]findings.Master, len(addrs))
	for i, addr := range addrs {
		option, err := masters.Option(addr)
		if err != nil {
			return nil, err
		}
		asked[i] = findings.Master{Address: masters.Redact(addr), Option: option, Trial: func(ctx context.Context) error { return tryEngine(ctx, addr) }}
	}
	all := findings.Collect(ctx, asked)
	prober, err := probe.Open(ctx, addrs, probe.Options{Every: 5 * time.Millisecond}) // back to back but for a breath
	if err != nil {
		return nil, err
	}
	watched := prober.Run(ctx, o.For).Masters
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wait := redlock.RestartWait(o.MaxTTL, redlock.DefaultDrift)
	found := append(findings.OfSet(all), assumed(len(all), o.MaxTTL, wait))
	if o.New {
		wait = 0
	}
	here := false
	var each []findings.Finding
	for i, f := range all {
		here = here || f.Host == findings.ThisHost
		f.Vote = uptime(f.Info, wait)
		for _, g := range append(findings.OfMaster(f), judgeProbe(watched, i)...) {
			g.Masters = []int{i + 1}
			each = append(each, g)
		}
	}
	found = append(found, findings.InOrder(findings.Grouped(each))...)
	found = append(found, machine(os.DirFS("/"), slept(), here)...)
	return &Report{Findings: findings.Grouped(found), PerMaster: watched}, nil
}

// tryEngine lets the engine itself look at the master, as it will: who it is, its
// scripts, and a trial lock that is taken, extended and released.
func tryEngine(ctx context.Context, addr string) error {
	e, err := engine.New(ctx, engine.Config{Masters: []string{addr}, MastersAreNew: true, MasterTimeout: time.Second})
	if err != nil {
		return err
	}
	return e.Close()
}
