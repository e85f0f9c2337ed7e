package plan

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
)

// ofLoad are the flags that describe a load. A comparison with one of them has that load alone.
var ofLoad = []string{"op", "workers", "procs", "keys", "dist", "hold", "think", "rate", "arrivals"}

// ofTime are the flags that each load of a comparison has a default of its own for.
var ofTime = []string{"duration", "warmup"}

// loads are those of a comparison without any flag of ofLoad. The one that gives --keys is the last, since flags stay given.
var loads = []struct {
	load  result.LoadName
	flags []setting
}{
	{result.OwnNames, []setting{{"workers", "64"}, {"duration", "1200ms"}, {"warmup", "400ms"}}},
	{result.LoneCaller, []setting{{"workers", "1"}, {"duration", "1s"}, {"warmup", "300ms"}}},
	{result.OneName, []setting{{"workers", "4"}, {"procs", "4"}, {"keys", "1"}, {"hold", "1ms"}, {"duration", "4500ms"}, {"warmup", "500ms"}}},
}

// Loads checks the command line of a comparison. Its plans have a load each, and one seed; the first has all of them in Loads.
func (f *Flags) Loads(command string, fs *pflag.FlagSet) (*Plan, error) {
	if err := f.TakeConfig(fs); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(ofLoad, fs.Changed) {
		return f.Plan(command, fs)
	}
	given := slices.DeleteFunc(slices.Clone(ofTime), func(name string) bool { return !fs.Changed(name) })
	chosen := slices.Concat(ofLoad, slices.DeleteFunc(slices.Clone(ofTime), fs.Changed)) // here, not by the user
	var plans []*Plan
	for _, l := range loads {
		if l.load == result.OneName && !bench.SharesMemory {
			continue // --procs needs it
		}
		for _, s := range l.flags {
			if slices.Contains(given, s.Flag) {
				continue
			}
			if err := fs.Set(s.Flag, s.Value); err != nil {
				return nil, fmt.Errorf("--%s: %w", s.Flag, err)
			}
		}
		p, err := f.Plan(command, fs)
		if err != nil {
			return nil, err
		}
		p.Setting = map[string]string{result.LoadSetting: string(l.load)}
		if l.load != result.OwnNames { // raw ignores --workers, and holds nothing that others could want
			p.Impls = slices.DeleteFunc(p.Impls, func(name string) bool { return name == raw.Name })
		}
		if len(p.Impls) > 0 {
			plans = append(plans, p)
		}
	}
	for _, p := range plans {
		p.Args = Arguments(fs, chosen...) // with the seed
	}
	plans[0].Loads = plans
	return plans[0], nil
}
