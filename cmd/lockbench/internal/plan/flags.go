package plan

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/rivals"
)

// Flags is the load's flags as a command line sets them; Plan is what they mean.
type Flags struct {
	masters  string
	local    int
	servers  []string
	embedded int
	impl     []string
	faults   []string

	load       bench.Config   // those that are flags
	engine     rivals.Options // likewise
	rounds     int
	probeEvery time.Duration

	slos   []string
	config string

	Output Output
}

// targetFlags choose the masters; one of them is enough.
var targetFlags = []string{"masters", "local", "embedded"}

// Output is the flags that say where a result goes, and how.
type Output struct {
	Format string
	File   string // empty: standard output
	Page   string // empty: none
	Quiet  bool
}

// Declare declares all that run, compare and sweep have in common.
func (f *Flags) Declare(to *pflag.FlagSet, impls string, rounds int, formats ...string) {
	Declare(to, OfTarget, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.masters, "masters", "", "use these masters: host:port, redis://, rediss://, unix://, separated by commas")
		fs.IntVar(&f.local, "local", 5, "start this many servers on free ports")
		fs.StringArrayVar(&f.servers, "server", nil, "program of the local servers, a path or a name on PATH; repeated: of one after the other, in turn (default redis-server, or valkey-server)")
		fs.IntVar(&f.embedded, "embedded", 0, "this many masters inside this process, no Redis needed; speed means nothing")
		fs.BoolVar(&f.engine.NewMasters, "new-masters", false, "with --masters: they have never granted a lock, so they may vote at once, without waiting for --ttl of an earlier life")
		fs.StringSliceVar(&f.impl, "impl", strings.Split(impls, ","), "implementations: "+strings.Join(implNames(), ", "))
	})
	Declare(to, OfLoad, func(fs *pflag.FlagSet) {
		fs.TextVar(&f.load.Op, "op", bench.AcquireRelease, "acquire-release; try: one attempt; extend: each worker extends a lock of its own;\nhold: keep --keys locks alive until the end; mix:acquire-release=90,try=8,extend=2: by weight; extend there acquires, extends half way, releases")
		fs.IntVar(&f.load.Workers, "workers", 64, "callers at once, in each process; with --rate the most that can be in flight")
		fs.IntVar(&f.load.Procs, "procs", 1, "processes on this machine, each with clients and workers of its own")
		fs.IntVar(&f.load.Keys, "keys", 1000, "lock names; alone it means --dist uniform; with --op hold how many to hold")
		fs.TextVar(&f.load.Dist, "dist", bench.Dist{}, "which name an operation takes: own (one per worker), uniform, zipf:S (any S above 0),\nhotspot:F,P (a share F of the names gets a share P of the operations)")
		fs.Var(Span{&f.load.Hold}, "hold", "how long a lock is held: 1ms, exp:1ms (exponential with that mean), lognormal:1ms,0.5 (median, and sigma of the logarithm), file:PATH (samples: a duration such as 12ms on each line, # begins a comment)")
		fs.Var(Span{&f.load.Think}, "think", "pause of a worker between operations, as --hold")
		fs.Var((*rate)(&f.load.Rate), "rate", "operations a second (5k, 1.5M); makes the loop open: latency counts from the planned start")
		fs.StringVar(&f.load.Arrivals, "arrivals", "", "with --rate: poisson (default) or uniform")
		fs.DurationVar(&f.load.Duration, "duration", 5*time.Second, "measured time of each run")
		fs.DurationVar(&f.load.Warmup, "warmup", time.Second, "time before it that no figure shows; at least 2s with a --fault for the whole run")
		fs.IntVar(&f.rounds, "rounds", rounds, "runs of each implementation, in turn: A B, B A, ...; round k has seed+k-1")
		fs.Uint64Var(&f.load.Seed, "seed", 0, "fixes names and arrivals; 0 = a random one, shown in the output")
		fs.DurationVar(&f.probeEvery, "probe-every", 50*time.Millisecond, "mean time between two probes of all masters beside the load; 0 = none")
	})
	Declare(to, OfLock, func(fs *pflag.FlagSet) {
		fs.DurationVar(&f.load.TTL, "ttl", 10*time.Second, "lease of each lock")
		fs.DurationVar(&f.load.Wait, "wait", 0, "how long one acquire may wait; 0 = until the run ends")
		fs.DurationVar(&f.engine.MasterTimeout, "master-timeout", 0, "how long the engine waits for one master; 0 = its default")
		fs.DurationVar(&f.engine.MaxTTL, "max-ttl", 0, "longest lease that any client of the masters may ask for; 0 = the engine's default, as for the next ones")
		fs.DurationVar(&f.engine.RetryHeld, "retry-held", 0, "mean delay before the next attempt at a lock that somebody holds")
		fs.DurationVar(&f.engine.RetrySplit, "retry-split", 0, "longest delay after a split vote")
		fs.BoolVar(&f.engine.Fencing, "fencing", false, "locks of muxlock have fencing tokens, which are audited; given --masters must be set up (muxlock masters init), others are")
	})
	Declare(to, OfFaults, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.faults, "fault", nil, "inject a fault into local master K, may be repeated: "+faults.Grammar+"; delay:K:0ms is the proxy alone")
	})
	Declare(to, OfJudgement, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.slos, "slo", nil, "what must be reached, may be repeated: acquire.response.p99<5ms, throughput>5k, error_rate<0.1%; any also asks for failure_rate<=1% and, with --rate, goodput>=95%, unless there is one about the same; a share has to be shown: 1% takes 300 operations; missed: exit code 3")
	})
	Declare(to, OfOutput, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.config, "config", "", "take all that is not given here from this result of an earlier run (-o json)")
		fs.StringVarP(&f.Output.Format, "output", "o", "text", strings.Join(formats, ", "))
		fs.StringVar(&f.Output.File, "out", "", "write the result to this file instead of standard output")
		fs.StringVar(&f.Output.Page, "html", "", "also write a page with charts to this file, for a browser")
		fs.BoolVarP(&f.Output.Quiet, "quiet", "q", false, "no progress on standard error")
	})
}

// implNames is everything that --impl takes.
func implNames() []string { return append(rivals.Names(), raw.Name) }
