package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/session"
	"muxlock/cmd/lockbench/internal/usage"
)

const (
	historyPerKey = 4096 // events that each process keeps of a name
	// A restarted master has no vote for the longest lease and restPause: the second of the
	// engine, and the time until it notices the master.
	restPause = 1200 * time.Millisecond
)

// chaosFlags has the load's flags, with other defaults, and the faults.
type chaosFlags struct {
	load    plan.Flags
	kinds   []string
	history string
}

func chaosCommand() *cobra.Command {
	var f chaosFlags
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Try to make two hold one lock: many holders, few keys, failing masters",
		Long: `Chaos locks few names from many workers while masters stop, die, restart and answer
late. A seed draws the faults. Chaos looks for two holders at once, and for fencing tokens that
do not grow. On either it exits 4, and writes the events around the first violation of each
name to --history. At most a minority of the masters is faulty; of a single master, that one.

flush (FLUSHALL) deletes a master's data. A lock without fencing makes no promise then, so
flush is drawn only if --faults names it.`,
		Example: `  lockbench chaos
  lockbench chaos --duration 10m --seed 7
  lockbench chaos --impl redislock        # a lock that dies with its server: exits 4`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return executeChaos(cmd, &f) },
	}
	f.declare(cmd.Flags())
	return cmd
}

func (f *chaosFlags) declare(to *pflag.FlagSet) {
	load := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.load.Declare(load, "muxlock", 1, few...)
	plan.Preset(load, map[string]string{
		"workers": "16", "procs": strconv.Itoa(min(2, maxChaosProcs)), "keys": "8", "hold": "lognormal:10ms,1.5", "duration": "30s", "ttl": "500ms",
		"warmup": "0s", "probe-every": "0s", "fencing": "true",
	})
	load.Lookup("ttl").Usage += ", and the longest one the engine assumes"
	load.Lookup("keys").Usage = "lock names"
	load.Lookup("seed").Usage = "fixes names, holds and faults; 0 = a random one, shown in the output"
	plan.Borrow(to, load, "impl", "local", "server")
	plan.Declare(to, plan.OfFaults, func(fs *pflag.FlagSet) {
		fs.StringSliceVar(&f.kinds, "faults", []string{"delay", "stop", "kill", "restart"}, "kinds to draw from, also flush")
	})
	plan.Borrow(to, load, "workers", "procs", "keys", "hold", "duration", "ttl", "master-timeout", "seed", "fencing")
	plan.Declare(to, plan.OfOutput, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.history, "history", "", "where to write the events around a violation; empty = lockbench-history-SEED.ndjson")
	})
	plan.Borrow(to, load, "output", "out", "html", "quiet")
}

// maxChaosProcs is 1 if processes cannot share the table of the audit.
var maxChaosProcs = map[bool]int{true: 1 << 10, false: 1}[bench.SharesMemory]

// plan checks the command line and draws the faults.
func (f *chaosFlags) plan(fs *pflag.FlagSet) (*plan.Plan, error) {
	p, err := f.load.Plan("chaos", fs)
	if err != nil {
		return nil, err
	}
	if len(p.Impls) != 1 || p.Impls[0] == raw.Name {
		return nil, usage.Errorf("--impl must be one lock, got %v", p.Impls)
	}
	if err := checkFormat(p.Output.Format, few); err != nil {
		return nil, err
	}
	for _, kind := range f.kinds {
		if gone := usage.Formerly("--fault " + kind); gone != nil {
			return nil, gone
		}
	}
	kinds, err := faults.ParseKinds(f.kinds)
	if err != nil {
		return nil, usage.Errorf("--faults %w", err)
	}
	if !p.Engine.Fencing {
		_ = fs.Set("fencing", "false") // for Arguments; a bool takes it
	}
	p.FaultKinds, p.Args = f.kinds, plan.Arguments(fs)
	if p.History = f.history; p.History == "" {
		p.History = fmt.Sprintf("lockbench-history-%d.ndjson", p.Load.Seed)
	}
	if dir, err := os.Stat(filepath.Dir(p.History)); err != nil || !dir.IsDir() {
		return nil, usage.Errorf("--history: no folder %s", filepath.Dir(p.History))
	}
	rest := p.Load.TTL + restPause
	if impl, _ := rivals.Find(p.Impls[0]); impl.Single {
		p.Masters.Count, rest = 1, 0 // no other master votes meanwhile
	}
	p.Load.Dist, p.Load.History, p.Engine.MaxTTL = bench.Uniform(), historyPerKey, p.Load.TTL
	if err := p.Load.Validate(); err != nil {
		return nil, usage.Error{Err: err}
	}
	atOnce := max(1, (p.Masters.Count-1)/2)
	p.MajorityServes = p.Masters.Count > 2 // one or two masters have no majority without the faulty one
	if p.Engine.Fencing {
		// A master that lost its data needs the registers of a majority of other masters to
		// be admitted. On a busy machine that takes longer than rest, and a lost majority
		// would stay lost.
		atOnce, rest = 1, 2*rest
	}
	p.Faults, err = faults.Lottery{
		Seed: p.Load.Seed, Kinds: kinds, Masters: p.Masters.Count, AtOnce: atOnce,
		Duration: p.Load.Duration, TTL: p.Load.TTL, Rest: rest,
	}.Draw()
	if err != nil {
		return nil, usage.Errorf("--faults %w", err)
	}
	if len(p.Faults) == 0 {
		return nil, usage.Errorf("--duration %s is too short for a fault with --ttl %s", p.Load.Duration, p.Load.TTL)
	}
	return p, nil
}

func executeChaos(cmd *cobra.Command, f *chaosFlags) error {
	p, err := f.plan(cmd.Flags())
	if err != nil {
		return err
	}
	if !p.Output.Quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "chaos: seed %d draws %d faults\n", p.Load.Seed, len(p.Faults))
	}
	return execute(cmd, p, procedure{
		runs: session.Rounds(p),
		// Holds outlive their lease on purpose, so lost is not asked.
		judge: func(ctx context.Context, results []*bench.Result, runErr error) error {
			for _, r := range results {
				if r.Safety.Violated() {
					runErr = errors.Join(runErr, writeHistory(p.History, r))
				}
			}
			return judge(ctx, results, runErr)
		},
	})
}

func writeHistory(path string, r *bench.Result) error {
	file, err := os.Create(path)
	if err == nil {
		err = errors.Join(result.History(file, r), file.Close())
	}
	if err != nil {
		return fmt.Errorf("--history: %w", err)
	}
	return nil
}
