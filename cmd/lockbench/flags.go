package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/rivals"
)

// flags is the command line as cobra fills it; plan is what it means.
type flags struct {
	masters  string
	local    int
	servers  []string
	embedded int
	impl     []string
	faults   []string

	cfg        bench.Config   // those that are flags
	engine     rivals.Options // likewise
	rounds     int
	probeEvery time.Duration

	slos   []string
	config string

	outputs
}

// targetFlags choose the masters; one of them is enough.
var targetFlags = []string{"masters", "local", "embedded"}

// outputs is the flags that say where a result goes, and how.
type outputs struct {
	format string
	out    string
	html   string
	quiet  bool
}

// declare declares all that run, compare and sweep have in common.
func (f *flags) declare(cmd *cobra.Command, impls string, rounds int, formats ...string) {
	declare(cmd, ofTarget, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.masters, "masters", "", "use these masters: host:port, redis://, rediss://, unix://, separated by commas")
		fs.IntVar(&f.local, "local", 5, "start this many servers on free ports")
		fs.StringArrayVar(&f.servers, "server", nil, "program of the local servers, a path or a name on PATH; repeated: of one after the other, in turn (default redis-server, or valkey-server)")
		fs.IntVar(&f.embedded, "embedded", 0, "this many masters inside this process, no Redis needed; speed means nothing")
		fs.BoolVar(&f.engine.NewMasters, "new-masters", false, "with --masters: they have never granted a lock, so they may vote at once, without waiting for --ttl of an earlier life")
		once(fs, "new-masters")
		fs.StringSliceVar(&f.impl, "impl", strings.Split(impls, ","), "implementations: "+strings.Join(implNames(), ", "))
	})
	declare(cmd, ofLoad, func(fs *pflag.FlagSet) {
		fs.TextVar(&f.cfg.Op, "op", bench.AcquireRelease, "acquire-release; try: one attempt; extend: each worker extends a lock of its own;\nhold: keep --keys locks alive until the end; mix:acquire-release=90,try=8,extend=2: by weight; extend there acquires, extends half way, releases")
		fs.IntVar(&f.cfg.Workers, "workers", 64, "callers at once, in each process; with --rate the most that can be in flight")
		fs.IntVar(&f.cfg.Procs, "procs", 1, "processes on this machine, each with clients and workers of its own")
		fs.IntVar(&f.cfg.Keys, "keys", 1000, "lock names; alone it means --dist uniform; with --op hold how many to hold")
		fs.TextVar(&f.cfg.Dist, "dist", bench.Dist{}, "which name an operation takes: own (one per worker), uniform, zipf:S (any S above 0),\nhotspot:F,P (a share F of the names gets a share P of the operations)")
		fs.Var(span{&f.cfg.Hold}, "hold", "how long a lock is held: 1ms, exp:1ms (exponential with that mean), lognormal:1ms,0.5 (median, and sigma of the logarithm), file:PATH (samples: a duration such as 12ms on each line, # begins a comment)")
		fs.Var(span{&f.cfg.Think}, "think", "pause of a worker between operations, as --hold")
		fs.Var((*rate)(&f.cfg.Rate), "rate", "operations a second (5k, 1.5M); makes the loop open: latency counts from the planned start")
		fs.StringVar(&f.cfg.Arrivals, "arrivals", "", "with --rate: poisson (default) or uniform")
		fs.DurationVar(&f.cfg.Duration, "duration", 5*time.Second, "measured time of each run")
		fs.DurationVar(&f.cfg.Warmup, "warmup", time.Second, "time before it that no figure shows; at least 2s with a --fault for the whole run")
		fs.IntVar(&f.rounds, "rounds", rounds, "runs of each implementation, in turn: A B, B A, ...; round k has seed+k-1")
		fs.Uint64Var(&f.cfg.Seed, "seed", 0, "fixes names and arrivals; 0 = a random one, shown in the output")
		fs.DurationVar(&f.probeEvery, "probe-every", 50*time.Millisecond, "mean time between two probes of all masters beside the load; 0 = none")
	})
	declare(cmd, ofLock, func(fs *pflag.FlagSet) {
		fs.DurationVar(&f.cfg.TTL, "ttl", 10*time.Second, "lease of each lock")
		fs.DurationVar(&f.cfg.Wait, "wait", 0, "how long one acquire may wait; 0 = until the run ends")
		fs.DurationVar(&f.engine.MasterTimeout, "master-timeout", 0, "how long the engine waits for one master; 0 = its default")
		fs.DurationVar(&f.engine.MaxTTL, "max-ttl", 0, "longest lease that any client of the masters may ask for; 0 = the engine's default, as for the next ones")
		fs.DurationVar(&f.engine.RetryHeld, "retry-held", 0, "mean delay before the next attempt at a lock that somebody holds")
		fs.DurationVar(&f.engine.RetrySplit, "retry-split", 0, "longest delay after a split vote")
		fs.BoolVar(&f.engine.Fencing, "fencing", false, "locks of muxlock have fencing tokens, which are audited; given --masters must be set up (muxlock masters init), others are")
	})
	declare(cmd, ofFaults, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.faults, "fault", nil, "inject a fault into local master K, may be repeated: "+faults.Grammar+"; delay:K:0ms is the proxy alone")
	})
	declare(cmd, ofJudgement, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.slos, "slo", nil, "what must be reached, may be repeated: acquire.response.p99<5ms, throughput>5k, error_rate<0.1%; any also asks for failure_rate<=1% and, with --rate, goodput>=95%, unless there is one about the same; a share has to be shown: 1% takes 300 operations; missed: exit code 3")
	})
	declare(cmd, ofOutput, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.config, "config", "", "take all that is not given here from this result of an earlier run (-o json)")
		fs.StringVarP(&f.format, "output", "o", "text", strings.Join(formats, ", "))
		fs.StringVar(&f.out, "out", "", "write the result to this file instead of standard output")
		fs.StringVar(&f.html, "html", "", "also write a page with charts to this file, for a browser")
		fs.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	})
}

// others is the same flags for a command that has some of them only: see borrow.
func (f *flags) others(name string) *cobra.Command {
	cmd := &cobra.Command{Use: name}
	f.declare(cmd, "muxlock", 1, few...)
	return cmd
}

// implNames is everything that --impl takes.
func implNames() []string { return append(rivals.Names(), raw.Name) }
