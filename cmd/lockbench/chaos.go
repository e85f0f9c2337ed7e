package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/internal/usage"
)

const (
	historyPerKey = 4096 // events that each process keeps of a name
	// A restarted master has no vote for the longest lease and restPause: the second of the
	// engine, and the time until it notices the master.
	restPause = 1200 * time.Millisecond
)

// chaosFlags are some flags of a load, with other defaults, and those of the faults.
type chaosFlags struct{ *plan.Flags }

func (c commands) chaos(load *plan.Flags) *cobra.Command {
	f := chaosFlags{load}
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Try to make two hold one lock: many holders, few keys, failing masters and clients",
		Long: `Chaos locks few names from many workers while masters and client processes fail. A seed
draws the faults. Chaos looks for two holders at once, and for fencing tokens that do not grow.
On either it exits 4, and writes the events around the first violation of each name to
--history. One more lock is kept alive by one process, and wanted by all others; chaos counts how
often it is lost, and how often of that while its process stood still. At most a minority of the
masters is faulty at a time (a single master may be), and at most one client.

  delay, cut, blackhole    replies are late; connections end in the middle of bytes; nothing
                           passes between one client and the master, until the end
  stop, full, deny         SIGSTOP; no memory is left; the ACL denies writes
  kill, restart            SIGKILL; the master comes back empty
  flush, replica, rollback FLUSHALL; the data of another master; old data of its own
  pause, crash             SIGSTOP of a client; SIGKILL, and a new one takes its place

By default all kinds are drawn that the locks are to survive. Only fencing promises to notice
a flush, a replica and a rollback. With several --impl the processes take them in turn; then a
master must not forget its locks, since other libraries do not wait after its restart. What a client
that is killed did is not counted, but its holds are audited, and in the history.`,
		Example: `  lockbench chaos
  lockbench chaos --duration 10m --seed 7
  lockbench chaos --op read-write:80
  lockbench chaos --impl muxlock,redsync-rueidis
  lockbench chaos --impl redislock        # a lock that dies with its server: exits 4`,
		Args: usage.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.plan(cmd.Flags())
			if err != nil {
				return err
			}
			says := fmt.Sprintf("chaos: seed %d draws %d faults", p.Seed, len(p.Faults))
			return c.execute(cmd, p, procedure{says: says, complete: func(doc *result.Document) (err error) {
				for _, r := range doc.Results {
					if r.Safety.Violated() {
						err = errors.Join(err, writeHistory(p.Settings.History, r))
					}
				}
				return err
			}})
		},
	}
	f.declare(cmd.Flags())
	return cmd
}

func (f chaosFlags) declare(to *pflag.FlagSet) {
	load := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Declare(load, "muxlock", 1, few...)
	plan.Preset(load, map[string]string{
		"workers": "16", "procs": strconv.Itoa(min(2, maxChaosProcs)), "keys": "8", "hold": "lognormal:10ms,1.5", "duration": "30s", "ttl": "500ms",
		"warmup": "0s", "probe-every": "0s", "fencing": "true",
	})
	load.Lookup("ttl").Usage += ", and the longest one the engine assumes"
	load.Lookup("op").Usage = "what a worker does, as in lockbench run; by default it acquires, tries and extends, as far as the locks can"
	load.Lookup("keys").Usage = "lock names"
	load.Lookup("seed").Usage = "fixes names, holds and faults; 0 = a random one, shown in the output"
	plan.Borrow(to, load, "impl", "local", "server")
	plan.Declare(to, plan.OfFaults, func(fs *pflag.FlagSet) {
		fs.StringSliceVar(&f.FaultKinds, "faults", nil, "kinds to draw from (default: those that the locks are to survive)")
	})
	plan.Borrow(to, load, "op", "workers", "procs", "keys", "hold", "duration", "ttl", "master-timeout", "seed", "fencing")
	plan.Declare(to, plan.OfOutput, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.Settings.History, "history", "", "where to write the events around a violation; empty = lockbench-history-SEED.ndjson")
	})
	plan.Borrow(to, load, "output", "out", "html", "quiet")
}

// maxChaosProcs is 1 if processes cannot share the table of the audit.
var maxChaosProcs = map[bool]int{true: 1 << 10, false: 1}[bench.SharesMemory]

// plan checks the command line and draws the faults.
func (f chaosFlags) plan(fs *pflag.FlagSet) (*plan.Plan, error) {
	if err := cmp.Or(
		usage.Refuse(f.Op == bench.Hold, "--op %s cannot be used with chaos, whose workers share names: nobody else gets a name while it is held", f.Op),
		usage.Refuse(f.Keys < 1, "--keys must be at least 1, got %d", f.Keys),
	); err != nil {
		return nil, err
	}
	f.Wait, f.Kept, f.Config.History = f.TTL, 1, historyPerKey
	p, err := f.Plan("chaos")
	if err != nil {
		return nil, err
	}
	if err := planImpls(p, fs); err != nil {
		return nil, err
	}
	if !fs.Changed("faults") {
		p.FaultKinds = survived(p)
	}
	p.Settings.History = cmp.Or(p.Settings.History, fmt.Sprintf("lockbench-history-%d.ndjson", p.Seed))
	folder := filepath.Dir(p.Settings.History)
	dir, noDir := os.Stat(folder)
	kinds, err := faults.ParseKinds(p.FaultKinds)
	if err := cmp.Or(
		usage.Refuse(err != nil, "--faults %w", err),
		usage.Refuse(p.Procs < 2 && slices.ContainsFunc(kinds, faults.Kind.NeedsClients), "--faults %s needs --procs 2 or more", strings.Join(p.FaultKinds, ",")),
		usage.Refuse(noDir != nil || !dir.IsDir(), "--history: no folder %s", folder),
	); err != nil {
		return nil, err
	}
	p.MaxTTL = p.TTL
	atOnce, rest := max(1, (p.Masters.Count-1)/2), p.TTL+restPause
	p.MajorityServes = p.Masters.Count > 2 // one or two masters have no majority without the faulty one
	if p.Fencing {
		// A master that lost its data needs the registers of a majority of other masters to
		// be admitted. On a busy machine that takes longer than rest, and a lost majority
		// would stay lost.
		atOnce, rest = 1, 2*rest
	}
	p.Faults, err = faults.Lottery{
		Run:  faults.Run{Masters: p.Masters.Count, Clients: p.Procs, Duration: p.Duration},
		Seed: p.Seed, Kinds: kinds, AtOnce: atOnce, TTL: p.TTL, Rest: rest,
	}.Draw()
	return p, cmp.Or(
		usage.Refuse(err != nil, "--faults %w", err),
		usage.Refuse(len(p.Faults) == 0, "--duration %s is too short for a fault with --ttl %s", p.Duration, p.TTL),
	)
}

// planImpls checks the implementations. It sets what they can do, unless the caller asks for something.
func planImpls(p *plan.Plan, fs *pflag.FlagSet) error {
	p.Together, p.Reference = len(p.Impls) > 1, ""
	if p.Together && p.Procs < len(p.Impls) {
		return usage.Errorf("--procs must be at least %d: each --impl is a process of its own, got %d", len(p.Impls), p.Procs)
	}
	mixed := !fs.Changed("op")
	for _, name := range p.Impls {
		impl, _ := rivals.Find(name)
		if name == raw.Name || p.Together && (impl.Single || impl.Yardstick) {
			return usage.Errorf("--impl must be one lock, or several on all masters, got %v", p.Impls)
		}
		if impl.Single {
			p.Masters.Count = 1
		}
		mixed = mixed && impl.Can(mix)
		if !impl.Can(bench.Hold) {
			p.Kept = 0
		}
	}
	if mixed {
		p.Op = mix
	}
	return nil
}

// mix is what a worker does with a lock that can be extended.
var mix = func() (op bench.Op) {
	_ = op.UnmarshalText([]byte("mix:acquire-release=8,try=1,extend=1")) // a valid text
	return op
}()

// survived returns the kinds of faults that the locks of a plan are to survive, or are known not to.
func survived(p *plan.Plan) (names []string) {
	for _, k := range faults.Kinds {
		switch {
		case k.NeedsClients() && p.Procs < 2, k == faults.Blackhole && runtime.GOOS != "linux":
		case k == faults.Replica && p.Masters.Count == 1, k.Misleads() && !p.Fencing, k.Forgets() && p.Together:
		default:
			names = append(names, string(k))
		}
	}
	return names
}

// writeHistory writes the events around violations and the faults to a file. Each is a JSON object
// on a line, in the order in which they began.
func writeHistory(path string, r *bench.Result) error {
	type line struct {
		fromNs int64
		of     any
	}
	var lines []line
	for _, f := range r.Faults {
		from, to := int64(f.FromS*1e9), int64(f.ToS*1e9)
		lines = append(lines, line{from, map[string]any{"kind": "fault", "spec": f.Spec, "master": f.Master, "from_ns": from, "to_ns": to}})
	}
	for _, event := range r.History {
		lines = append(lines, line{event.FromNs, event})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.fromNs, b.fromNs) })
	var text bytes.Buffer
	for _, l := range lines {
		_ = json.NewEncoder(&text).Encode(l.of) // of numbers and texts
	}
	if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
		return fmt.Errorf("--history: %w", err)
	}
	return nil
}
