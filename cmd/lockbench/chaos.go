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
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
)

// Of chaos alone.
const (
	historyPerKey = 4096 // events that each process keeps of a name
	// restPause is what a restarted master stays away beyond the longest lease: the
	// engine's second, and the time it takes to notice.
	restPause = 1200 * time.Millisecond
)

// chaosFlags is the load's flags with defaults of their own, and which faults.
type chaosFlags struct {
	flags
	kinds   []string
	history string
}

func chaosCommand() *cobra.Command {
	var f chaosFlags
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Try to make two hold one lock: many holders, few keys, masters that fail",
		Long: `Chaos locks few names from many places while masters stop, die, restart, lose
their connections and answer late, as a seed draws it, and watches for two
holders at once, and for fencing tokens that do not grow. Never more than a minority of the masters is faulty (the one
master, where the lock uses only one). With either it exits 4 and writes
the events around the first of each name to --history.

flush (FLUSHALL), copy (REPLICAOF another master and back), swapdb (SWAPDB 0 1) and
rollback (started again with an old snapshot) take a master's data or replace them.
That is outside of what a lock without fencing promises, so that they are only drawn
when --faults names them.`,
		Example: `  lockbench chaos
  lockbench chaos --duration 10m --seed 7
  lockbench chaos --impl redislock        # a lock that dies with its server: exits 4`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return executeChaos(cmd, &f) },
	}
	f.declare(cmd)
	return cmd
}

func (f *chaosFlags) declare(cmd *cobra.Command) {
	load := f.others(cmd.Name())
	borrow(cmd, load, "impl", "local", "server")
	declare(cmd, ofFaults, func(fs *pflag.FlagSet) {
		fs.StringSliceVar(&f.kinds, "faults", []string{"delay", "stop", "kill", "restart", "cut"}, "kinds to draw from, also flush, copy, swapdb, rollback")
	})
	borrow(cmd, load, "workers", "procs", "keys", "hold", "duration", "ttl", "master-timeout", "seed", "fencing")
	for name, value := range map[string]string{
		"workers": "16", "procs": strconv.Itoa(min(2, maxChaosProcs)), "keys": "8", "hold": "lognormal:10ms,1.5", "duration": "30s", "ttl": "500ms",
		"warmup": "0s", "probe-every": "0s", "fencing": "true",
	} {
		preset(load, name, value)
	}
	cmd.Flags().Lookup("ttl").Usage += ", and the longest one that the engine assumes"
	cmd.Flags().Lookup("keys").Usage = "lock names"
	cmd.Flags().Lookup("seed").Usage = "fixes names, holds and faults; 0 = a random one, shown in the output"
	declare(cmd, ofOutput, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.history, "history", "", "where to write the events around a violation; empty = lockbench-history-SEED.ndjson")
	})
	borrow(cmd, load, "output", "out", "html", "quiet")
}

// maxChaosProcs is 1 where processes cannot share the table of the audit.
var maxChaosProcs = map[bool]int{true: 1 << 10, false: 1}[bench.SharesMemory]

// plan checks the command line and draws the faults.
func (f *chaosFlags) plan(cmd *cobra.Command) (*plan, error) {
	p, err := f.flags.plan(cmd)
	if err != nil {
		return nil, err
	}
	if len(p.impls) != 1 || p.impls[0] == raw.Name {
		return nil, usagef("--impl must be one lock, got %v", p.impls)
	}
	if err := checkFormat(p.format, few); err != nil {
		return nil, err
	}
	kinds, err := faults.ParseKinds(f.kinds)
	if err != nil {
		return nil, usagef("--faults %w", err)
	}
	if !p.engine.Fencing {
		_ = cmd.Flags().Set("fencing", "false") // for arguments, where it cannot be had; a bool takes it
	}
	p.kinds, p.args = f.kinds, arguments(cmd)
	if p.history = f.history; p.history == "" {
		p.history = fmt.Sprintf("lockbench-history-%d.ndjson", p.cfg.Seed)
	}
	if dir, err := os.Stat(filepath.Dir(p.history)); err != nil || !dir.IsDir() {
		return nil, usagef("--history: no folder %s", filepath.Dir(p.history))
	}
	rest := p.cfg.TTL + restPause
	if impl, _ := rivals.Find(p.impls[0]); impl.Single {
		p.count, rest = 1, 0 // no other master to vote meanwhile
	}
	p.cfg.Dist, p.cfg.History, p.engine.MaxTTL = bench.Uniform(), historyPerKey, p.cfg.TTL
	if err := p.cfg.Validate(); err != nil {
		return nil, usageError{err}
	}
	atOnce := max(1, (p.count-1)/2)
	p.progress = p.count > 2 // with one or two, none may fail
	if p.engine.Fencing {
		// A master that lost its data is admitted with the registers of a majority's worth of
		// others. On a busy machine that takes longer than its rest, and a lost majority
		// would stay lost.
		atOnce, rest = 1, 2*rest
	}
	p.faults, err = faults.Lottery{
		Seed: p.cfg.Seed, Kinds: kinds, Masters: p.count, AtOnce: atOnce,
		Duration: p.cfg.Duration, TTL: p.cfg.TTL, Rest: rest,
	}.Draw()
	if err != nil {
		return nil, usagef("--faults %w", err)
	}
	if len(p.faults) == 0 {
		return nil, usagef("--duration %s is too short for a fault with --ttl %s", p.cfg.Duration, p.cfg.TTL)
	}
	return p, nil
}

func executeChaos(cmd *cobra.Command, f *chaosFlags) error {
	p, err := f.plan(cmd)
	if err != nil {
		return err
	}
	if !p.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "chaos: seed %d draws %d faults\n", p.cfg.Seed, len(p.faults))
	}
	p.runs = drill{rounds{p}}
	return p.execute(cmd)
}

// drill is a run that leaves the history of a violation in a file.
type drill struct{ rounds }

// judge: that holds outlive their lease is part of the drill.
func (d drill) judge(ctx context.Context, results []*bench.Result, runErr error) error {
	for _, r := range results {
		if r.Safety.Violated() {
			runErr = errors.Join(runErr, writeHistory(d.history, r))
		}
	}
	return judge(ctx, results, runErr)
}

func writeHistory(path string, r *bench.Result) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--history: %w", err)
	}
	defer file.Close()
	if err := result.History(file, r); err != nil {
		return fmt.Errorf("--history: %w", err)
	}
	return file.Close()
}
