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

// ToolCPU measures what the load generator itself takes of the processor per cycle, in
// ns: it puts the load of cfg on a lock that does nothing, for a little more than half a
// second and no longer than the run itself. 0 when it cannot tell: with op hold, which
// has no cycles, or when ctx ended.
//
// Where workers sleep, for an arrival, a hold or a pause, it is an upper bound: waking an
// idle process is most of it, and beside a real lock the process is awake more often.
// Times of holding and pausing are fixed ones of 5 ms at most, for waking up costs the same
// after any. Of several processes one has its share of the load: what they pay for the
// table that they share is not seen.
func ToolCPU(ctx context.Context, cfg Config) float64 {
	if cfg.Op == Hold {
		return 0
	}
	cfg.Rate /= float64(cfg.procs())
	cfg.Procs = 1
	cfg.Warmup, cfg.Duration = min(toolWarmup, cfg.Warmup), min(toolDuration, cfg.Duration)
	cfg.Ramp, cfg.Steady = 0, 0
	cfg.Hold = Fixed(min(cfg.Hold.Mean(), toolSpan))
	cfg.Think = Fixed(min(cfg.Think.Mean(), toolSpan))
	cfg.Progress, cfg.Begin = nil, nil
	res, err := Run(ctx, "noop", Noop{}, cfg)
	if err != nil || res.Interrupted() {
		return 0
	}
	return res.Client.CPUNsPerOp
}

// ChargeTool notes what the generator took of the result's processor time, as ToolCPU
// told.
func (r *Result) ChargeTool(nsPerOp float64) {
	c := &r.Client
	if nsPerOp <= 0 || c.CPUNsPerOp <= 0 {
		return
	}
	c.ToolCPUNsPerOp, c.ToolCPUShare = nsPerOp, min(1, nsPerOp/c.CPUNsPerOp)
}
