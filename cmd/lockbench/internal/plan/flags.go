package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
)

// Flags has the values of a load's flags: the settings, and those that a document has in other forms or does not keep.
// Plan turns them into a checked Plan.
type Flags struct {
	result.Settings
	Output Output

	masters         string // a document has their addresses, as for the next two
	local, embedded int
	newMasters      bool // may be wrong later
	config          string
	said            []string // flags that --config has set
	flags           *pflag.FlagSet
}

// set reports whether the user set a flag.
func (f *Flags) set(name string) bool { return f.flags.Changed(name) }

// given reports whether the user or --config set a flag.
func (f *Flags) given(name string) bool { return f.set(name) || slices.Contains(f.said, name) }

// targetFlags choose the masters. They exclude each other.
var targetFlags = []string{"masters", "local", "embedded"}

// Output has the flags for place and format of a result.
type Output struct {
	Format  string
	Formats []string // that the command has
	File    string   // empty: standard output
	Page    string   // empty: no page
	Quiet   bool
}

// Declare declares the common flags of run, compare and sweep.
func (f *Flags) Declare(to *pflag.FlagSet, impls string, rounds int, formats ...string) {
	f.flags, f.Output.Formats = to, formats
	Declare(to, OfTarget, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.masters, "masters", "", "use these masters: host:port, redis://, rediss://, unix://, separated by commas")
		fs.IntVar(&f.local, "local", 5, "start this many servers on free ports")
		fs.StringArrayVar(&f.Programs, "server", nil, "program of the local servers, a path or a name on PATH; if repeated, servers take them in turn (default redis-server, or valkey-server)")
		fs.IntVar(&f.embedded, "embedded", 0, "this many masters inside this process, no Redis needed; speed means nothing")
		fs.BoolVar(&f.newMasters, "new-masters", false, "with --masters: they have never granted a lock, so they may vote at once, without a wait of --max-ttl and a little")
		fs.StringSliceVar(&f.Impls, "impl", strings.Split(impls, ","), "implementations: "+strings.Join(rivals.Names(), ", "))
		fs.IntVar(&f.Groups, "groups", 1, "groups that muxlock spreads the names over; each has --local or --embedded masters of its own, or an equal part of --masters")
	})
	Declare(to, OfLoad, func(fs *pflag.FlagSet) {
		fs.TextVar(&f.Op, "op", bench.AcquireRelease, "acquire-release; try: one attempt; hold: keep --keys locks alive until the end; all:4: four names in one call, all or none; many:100: what is free of 100;\nread-write:80: 80 of 100 operations read, the others write; runs of one --seed on the same --masters share names;\npermit:5: each name has up to five holders at once;\nmix:acquire-release=90,try=8,extend=2: by weight; its extend acquires, extends half way, releases")
		fs.IntVar(&f.Workers, "workers", 64, "callers at once, in each process; with --rate the most operations in flight")
		fs.IntVar(&f.Procs, "procs", 1, "processes on this machine, each with clients and workers of its own")
		fs.IntVar(&f.Keys, "keys", 0, "number of lock names that all workers want, or with --op hold of locks; 0: each worker has a name of its own (1000 with --dist or --op hold)")
		fs.TextVar(&f.Dist, "dist", bench.Dist{}, "how operations choose a name: own (one per worker), uniform (as with --keys), zipf:S (any S above 0),\nhotspot:F,P (a share F of the names gets a share P of the operations)")
		fs.Var(Span{&f.Hold}, "hold", "how long a lock is held: 1ms, exp:1ms (exponential, by its mean), lognormal:1ms,0.5 (median, and sigma of the logarithm), file:PATH (samples: a duration such as 12ms on each line, # begins a comment)")
		fs.Var(Span{&f.Think}, "think", "pause of a worker between operations, written like --hold")
		fs.Var((*rate)(&f.Rate), "rate", "operations a second (5k, 1.5M); makes the loop open: latency counts from the planned start")
		fs.StringVar(&f.Arrivals, "arrivals", "", "with --rate: poisson (default) or uniform")
		fs.DurationVar(&f.Duration, "duration", 5*time.Second, "measured time of each run")
		fs.DurationVar(&f.Warmup, "warmup", time.Second, "time before --duration, in no figure; at least 2s with a --fault for the whole run")
		fs.IntVar(&f.Rounds, "rounds", rounds, "runs of each implementation, in turn: A B, B A, ...; round k has seed+k-1")
		fs.Uint64Var(&f.Seed, "seed", 0, "fixes names and arrivals; 0 = a random one, shown in the output")
		fs.DurationVar(&f.ProbeEvery, "probe-every", 50*time.Millisecond, "mean time between two probes of all masters beside the load; 0 = none")
	})
	Declare(to, OfLock, func(fs *pflag.FlagSet) {
		fs.DurationVar(&f.TTL, "ttl", 10*time.Second, "lease of each lock")
		fs.DurationVar(&f.Wait, "wait", 0, "how long one acquire may wait; 0 = until the run ends")
		fs.DurationVar(&f.MasterTimeout, "master-timeout", 0, "how long the engine waits for one master; 0 = its default; a probe waits five times as long")
		fs.DurationVar(&f.MaxTTL, "max-ttl", 0, "longest lease of any client of these masters; 0 = the engine's default, as for the next two flags")
		fs.DurationVar(&f.RetryHeld, "retry-held", 0, "mean delay before the next attempt at a held lock")
		fs.DurationVar(&f.RetrySplit, "retry-split", 0, "longest delay after a split vote")
		fs.BoolVar(&f.Fencing, "fencing", false, "give muxlock's locks fencing tokens, and audit them; --masters must be set up first (muxlock masters init), others are set up; muxlock-single has none, and does not run on --masters that are a set")
	})
	Declare(to, OfFaults, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.Faults, "fault", nil, "inject a fault into local master K, may be repeated: "+faults.Grammar+"; delay:K:0ms is the proxy alone")
	})
	Declare(to, OfJudgement, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.SLO, "slo", nil, "an objective, may be repeated: response.p99<5ms, throughput>5k, error_rate<0.1%; any objective implies failure_rate<=1% and, with --rate, goodput>=95% (not with try or many, where a refusal is an answer), unless you name others; a share needs samples: 1% takes 300 operations; missed: exit code 3")
	})
	Declare(to, OfOutput, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.config, "config", "", "take all other flags from this result of an earlier run (-o json)")
		fs.StringVarP(&f.Output.Format, "output", "o", "text", strings.Join(formats, ", "))
		fs.StringVar(&f.Output.File, "out", "", "write the result to this file instead of standard output")
		fs.StringVar(&f.Output.Page, "html", "", "also write a page with charts to this file, for a browser")
		fs.BoolVarP(&f.Output.Quiet, "quiet", "q", false, "no progress on standard error")
	})
}
