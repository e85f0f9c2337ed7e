package doctor

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"muxlock/bench"
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
	Findings  []Finding      `json:"findings"`
	PerMaster []bench.Master `json:"per_master"`
}

// Examine looks at masters, all at once, and at this machine. It blocks for the time
// that Options give and a few seconds more at most. That a master cannot be reached is
// a finding; the only errors are an address that is none, and the end of ctx.
func Examine(ctx context.Context, addrs []string, o Options) (*Report, error) {
	masters := collect(ctx, addrs)
	watched, err := watch(ctx, addrs, o.For)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wait := redlock.RestartWait(o.MaxTTL, redlock.DefaultDrift)
	found := append(judgeSet(masters), assumed(len(masters), o.MaxTTL, wait))
	if o.New {
		wait = 0
	}
	here := false
	var each []Finding
	for i, f := range masters {
		here = here || f.host == thisHost
		for _, g := range append(judgeMaster(f, wait), judgeProbe(watched, i)...) {
			g.Masters = []int{i + 1}
			each = append(each, g)
		}
	}
	found = append(found, inOrder(grouped(each))...)
	found = append(found, machine(os.DirFS("/"), slept(), here)...)
	return &Report{Findings: grouped(found), PerMaster: watched}, nil
}

// inOrder puts findings of one check side by side, checks in the order in which they
// first come.
func inOrder(found []Finding) []Finding {
	first := map[string]int{}
	for i, f := range slices.Backward(found) {
		first[f.Check] = i
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(first[a.Check], first[b.Check]) })
	return found
}
