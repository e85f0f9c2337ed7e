package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestToolCPUIsMeasuredForEveryLoadThatHasCycles(t *testing.T) {
	if cpuTime() == 0 {
		t.Skip("no processor time here")
	}
	base := Config{Workers: 4, Keys: 10, Duration: time.Hour, Warmup: time.Hour, TTL: time.Minute}
	for name, change := range map[string]func(*Config){
		"closed":    func(*Config) {},
		"shared":    func(c *Config) { c.Dist = Uniform() },
		"open":      func(c *Config) { c.Rate = 1000 },
		"processes": func(c *Config) { c.Rate, c.Procs = 1000, 4 },
		"long hold": func(c *Config) { c.Hold, c.Think = Exp(time.Hour), Lognormal(time.Hour, 1) },
		"ramp":      func(c *Config) { c.Ramp = time.Minute },
		"steady":    func(c *Config) { c.Steady = 0.05 },
		"extend":    func(c *Config) { c.Op = Extend },
		"mix":       func(c *Config) { c.Op = mixOf(t, "mix:try=1,extend=1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := base
			change(&cfg)
			begin := time.Now()
			c := ToolCPU(t.Context(), cfg)
			require.Positive(t, c.AtMost)
			require.Positive(t, c.Work)
			if cfg.Rate == 0 && cfg.Hold == (Span{}) {
				require.Equal(t, c.AtMost, c.Work, "nobody sleeps")
			}
			require.Less(t, time.Since(begin), time.Minute, "not as long as the run")
		})
	}
	keeping := base
	keeping.Op = Hold
	require.Zero(t, ToolCPU(t.Context(), keeping))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Zero(t, ToolCPU(ctx, base))
}

func TestResultIsChargedOnlyWhatIsKnown(t *testing.T) {
	r := &Result{Client: Client{CPUNsPerOp: 1000}}
	r.ChargeTool(ToolCost{Work: 7, AtMost: 50})
	require.Equal(t, Client{CPUNsPerOp: 1000, ToolWorkNsPerOp: 7, ToolCPUNsPerOp: 50, ToolCPUShare: 0.05}, r.Client)
	r.ChargeTool(ToolCost{Work: 7, AtMost: 2000})
	require.Equal(t, 1.0, r.Client.ToolCPUShare, "never more than all")
	r = &Result{}
	r.ChargeTool(ToolCost{Work: 7, AtMost: 50})
	require.Equal(t, Client{}, r.Client, "no cycle")
}
