package plan

import (
	"slices"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
)

// ofLoad are the flags that describe a load. A comparison with one of them has that load alone.
var ofLoad = []string{"workers", "op", "procs", "keys", "dist", "hold", "think", "rate", "arrivals"}

// loads are those of a comparison without any flag of ofLoad.
var loads = []result.Load{
	{Name: result.OwnNames, Config: bench.Config{Workers: 64, Procs: 1, Duration: 1200 * time.Millisecond, Warmup: 400 * time.Millisecond}},
	{Name: result.LoneCaller, Config: bench.Config{Workers: 1, Procs: 1, Duration: time.Second, Warmup: 300 * time.Millisecond}},
	{Name: result.OneName, Config: bench.Config{Workers: 4, Procs: 4, Keys: 1, Hold: bench.Fixed(time.Millisecond), Duration: 4500 * time.Millisecond, Warmup: 500 * time.Millisecond}},
}

// Loads checks the command line of a comparison. Its plans have a load each, and one seed; it returns the first, with all of them in Each.
func (f *Flags) Loads(command string) (*Plan, error) {
	if err := f.takeConfig(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(ofLoad, f.given) {
		return f.Plan(command)
	}
	var plans []*Plan
	for _, l := range loads {
		if l.Name == result.OneName && !bench.SharesMemory {
			continue // --procs needs it
		}
		f.Workers, f.Procs, f.Keys, f.Hold = l.Workers, l.Procs, l.Keys, l.Hold
		if !f.given("duration") {
			f.Duration = l.Duration
		}
		if !f.given("warmup") {
			f.Warmup = l.Warmup
		}
		p, err := f.Plan(command)
		if err != nil {
			return nil, err
		}
		p.Setting = map[string]string{result.LoadSetting: string(l.Name)}
		if l.Name != result.OwnNames { // raw ignores --workers, and holds nothing that others could want
			p.Impls = slices.DeleteFunc(p.Impls, func(name string) bool { return name == raw.Name })
		}
		if len(p.Impls) > 0 {
			plans = append(plans, p)
		}
	}
	plans[0].Each = plans
	return plans[0], nil
}
