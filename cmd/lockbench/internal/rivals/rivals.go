// Package rivals has every implementation of lockbench: the engine, other libraries, and two
// yardsticks. Each is a bench.Locker, except raw, a load of its own.
//
// Each adapter owns its clients and closes them in Close. Each library waits and retries by its
// defaults, since its users get those. If a library has no default, the adapter takes the example
// of its documentation. The comment on each type names both.
package rivals

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/engine"
)

// Options are the options for opening an implementation.
type Options struct {
	result.Engine               // Fencing: only of an implementation that Fences; the masters are set up for it
	Masters       []string      // host:port, redis://, rediss:// or unix://; a single-server implementation uses the first
	TTL           time.Duration // lease of every call
	Workers       int           // callers at once: sizes connection pools
	Distant       bool          // a reply may take milliseconds
	NewMasters    bool          // the masters were started for this run, and not restarted
	Joins         bool          // others use the masters already; the caller waits where these do not vote yet
	NoTracking    bool          // the servers know no CLIENT TRACKING (embedded masters)
	SetUp         string        // tells one SetUp of the masters from others; empty: lockbench does not set them up
	// From is the local IP of connections; empty: any. Proxies tell client processes by it.
	From string
}

func (o Options) dialer() (d net.Dialer) {
	if o.From != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(o.From)}
	}
	return d
}

// Impl is one implementation.
type Impl struct {
	Name string
	// Open connects. It blocks until the masters answered or ctx ends. Raw has raw.Open instead.
	Open func(ctx context.Context, o Options) (bench.Locker, error)
	// Caveat says in one line what the implementation does not promise, or what its figures do not
	// show. Empty for the engine itself.
	Caveat string
	// Locker and Lock are a nil locker and a nil lock of its types. The types show what it can do, as a
	// bench.SeveralLocker or a bench.Extender can. Unset: what every bench.Locker or bench.Held can.
	Locker bench.Locker
	Lock   bench.Held
	// Ours says that it is this project's engine, which takes the settings in Options.Engine.
	Ours bool
	// Polls says that its waiters sleep and try again.
	Polls bool
	// Single says that it uses only the first master.
	Single bool
	// Fences says that its locks have fencing tokens if Options.Fencing is set.
	Fences bool
	// Yardstick says that it is no lock, but a bound for locks.
	Yardstick bool
	modules   []string // of its client libraries
}

// All lists the implementations in the order in which tables show them.
var All = []Impl{
	{Name: "muxlock", Open: openMuxlock, Ours: true, Fences: true, Locker: muxlock{}, Lock: (*engine.Lock)(nil), modules: []string{moduleRueidis}},
	{
		Name: "muxlock-single", Open: openMuxlockSingle, Ours: true, Single: true, Locker: muxlock{}, Lock: (*engine.Lock)(nil), modules: []string{moduleRueidis},
		Caveat: "one master: the lock dies with its server, and a failover to a replica can grant it twice",
	},
	{
		Name: "redsync-goredis", Open: openRedsync(goRedisPool), Polls: true, Lock: redsyncHeld{}, modules: []string{moduleRedsync, moduleGoRedis},
		Caveat: "waiters sleep 50-250 ms between 32 tries, then give up; waits for all masters, not a quorum (unless WithFailFast, an option that is not measured); a cancelled call leaves its keys until they expire; no renewal by itself",
	},
	{
		Name: "redsync-autopipeline", Open: openRedsync(autoPipelinePool), Polls: true, Lock: redsyncHeld{}, modules: []string{moduleRedsync, moduleGoRedis},
		Caveat: "as redsync-goredis; go-redis's AutoPipeline, which it calls experimental, sends the commands of all callers together",
	},
	{
		Name: "redsync-rueidis", Open: openRedsync(rueidisPool), Polls: true, Lock: redsyncHeld{}, modules: []string{moduleRedsync, moduleRueidis},
		Caveat: "as redsync-goredis; only the client library below it differs",
	},
	{
		Name: "redislock", Open: openRedislock, Polls: true, Single: true, modules: []string{moduleRedislock, moduleGoRedis},
		Caveat: "one server: the lock dies with it; no waiting by default (here: every 100 ms, as its documentation shows); no renewal by itself, no drift allowance",
	},
	{
		Name: "rueidislock", Open: openRueidislock, Single: true, modules: []string{moduleRueidis},
		Caveat: "the majority is of 3 keys in ONE deployment, not of independent masters; expiry follows the client's wall clock; renews by itself",
	},
	{
		Name: "noop", Open: func(context.Context, Options) (bench.Locker, error) { return Noop{}, nil }, Locker: Noop{}, Lock: Noop{}, Yardstick: true,
		Caveat: "locks nothing: it shows what the load generator itself can do and, where names are shared, that the audit works",
	},
	{Name: raw.Name, Yardstick: true, Caveat: raw.Caveat},
}

// Can reports whether the implementation can do what op needs.
func (i Impl) Can(op bench.Op) bool {
	ok := true
	switch {
	case op.Extends():
		_, ok = i.Lock.(bench.Extender)
	case op == bench.Hold:
		_, ok = i.Lock.(bench.Keeper)
	case op.TakesSeveral():
		_, ok = i.Locker.(bench.SeveralLocker)
	case op.Shares() || op.Permits():
		_, ok = i.Locker.(bench.SharedLocker)
	}
	return ok
}

// CanFence reports whether one of the implementations Fences.
func CanFence(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		impl, _ := Find(name)
		return impl.Fences
	})
}

// Names returns the names of all implementations.
func Names() (names []string) {
	for _, impl := range All {
		names = append(names, impl.Name)
	}
	return names
}

// Again names the n-th of several entries of one implementation in a comparison, from the second on.
func Again(name string, n int) string { return fmt.Sprintf("%s#%d", name, n) }

// Find returns the implementation of that name, or of one that Again made.
func Find(name string) (Impl, bool) {
	name, _, _ = strings.Cut(name, "#")
	i := slices.IndexFunc(All, func(impl Impl) bool { return impl.Name == name })
	if i < 0 {
		return Impl{}, false
	}
	return All[i], true
}
