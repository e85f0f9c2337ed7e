package bench

import (
	"context"
	"time"
)

// How long ToolCPU loads at most, and the longest hold or pause in it.
const (
	toolWarmup   = 100 * time.Millisecond
	toolDuration = 500 * time.Millisecond
	toolSpan     = 5 * time.Millisecond
)

// A ToolCost is what the load generator itself takes of the processor per cycle, in ns, with
// a lock that does nothing; 0: unknown.
type ToolCost struct {
	Work float64 // without sleeping: drawing, clocks, audit and histograms
	// AtMost is under the same load. Where workers sleep, for an arrival, a hold or a pause,
	// waking an idle process is most of it, and beside a real lock the process is awake
	// more often.
	AtMost float64
}

// ToolCPU measures it under the load of cfg, for about a second and no longer than the run
// itself. It returns zeros with op hold, which has no cycles, and when ctx ended.
//
// Times of holding and pausing are fixed ones of 5 ms at most, for waking up costs the same
// after any. Of several processes one has its share of the load: what they pay for the
// table that they share is not seen.
func ToolCPU(ctx context.Context, cfg Config) (c ToolCost) {
	if cfg.Op == Hold {
		return c
	}
	cfg.Rate /= float64(cfg.procs())
	cfg.Procs = 1
	cfg.Warmup, cfg.Duration = min(toolWarmup, cfg.Warmup), min(toolDuration, cfg.Duration)
	cfg.Ramp, cfg.Steady = 0, 0
	cfg.Hold = Fixed(min(cfg.Hold.Mean(), toolSpan))
	cfg.Think = Fixed(min(cfg.Think.Mean(), toolSpan))
	cfg.Progress, cfg.Begin = nil, nil
	c.AtMost = noopCPU(ctx, cfg)
	c.Work = c.AtMost
	if cfg.Rate > 0 || cfg.Hold.Mean() > 0 || cfg.Think.Mean() > 0 {
		cfg.Rate, cfg.Arrivals, cfg.DropAfter, cfg.Hold, cfg.Think = 0, "", 0, Span{}, Span{}
		c.Work = noopCPU(ctx, cfg)
	}
	return c
}

func noopCPU(ctx context.Context, cfg Config) float64 {
	res, err := Run(ctx, "noop", Noop{}, cfg)
	if err != nil || res.Interrupted() {
		return 0
	}
	return res.Client.CPUNsPerOp
}

// ChargeTool notes what the generator took of the result's processor time.
func (r *Result) ChargeTool(t ToolCost) {
	c := &r.Client
	if t.AtMost <= 0 || c.CPUNsPerOp <= 0 {
		return
	}
	c.ToolWorkNsPerOp, c.ToolCPUNsPerOp, c.ToolCPUShare = t.Work, t.AtMost, min(1, t.AtMost/c.CPUNsPerOp)
}
