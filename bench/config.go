package bench

import (
	"errors"
	"fmt"
	"time"
)

// ErrConfig is matched by every ConfigError: the caller asked for something that no run
// can do. Config.Validate and all parsers of this package return such errors.
var ErrConfig = errors.New("bench: invalid configuration")

// ConfigError says which setting is wrong. Its text is for the command line and names the flag.
type ConfigError struct {
	Field  string // of Config; "" if none is meant
	Flag   string // the flag of lockbench that sets it; "" if several may
	Reason string
}

func (e *ConfigError) Error() string {
	if e.Flag == "" {
		return e.Reason
	}
	return "--" + e.Flag + " " + e.Reason
}

func (e *ConfigError) Is(target error) bool { return target == ErrConfig }

// Limits of Validate.
const (
	maxWorkers = 1 << workerBits // a worker's number must fit into an audit stamp
	maxKeys    = 1 << 26
	maxTable   = 4 << 30 // bytes, for what workers share about the names
	minTTL     = time.Millisecond
)

// Config describes one run. It is read once, when the run begins. Its JSON form is the
// workload part of a Document's config.
type Config struct {
	// Workers is the number of goroutines that lock, in each process. It limits the
	// operations in flight; with too few, an open loop cannot meet its rate.
	Workers int `json:"workers"`
	// Procs is the number of processes, each with Workers of its own; 0 means 1.
	// Run runs one process, RunPart one of several.
	Procs int `json:"procs,omitempty"`
	// Keys is the number of distinct lock names. With op hold the workers divide them. Otherwise
	// distribution own ignores Keys: each worker has as many names to itself as an operation takes.
	Keys int `json:"keys"`
	// Dist chooses the name of an operation. The zero value is own. Ops all and many take
	// the names that follow it, too.
	Dist Dist `json:"dist"`
	// Hold is the time a lock is held, Think the pause of a worker between two
	// operations (closed loop only). Neither counts as latency. Without Think, a worker of a closed
	// loop pauses 1 ms after a refusal: else it would measure how fast a lock can say no.
	Hold  Span `json:"hold"`
	Think Span `json:"think"`
	// Rate is the number of arrivals per second, at all processes together. Above 0 the loop
	// is open; 0 means closed: a worker begins again when it has finished.
	Rate float64 `json:"rate"`
	// Arrivals is ArrivalsPoisson (the default) or ArrivalsUniform. Open loop only.
	Arrivals string `json:"arrivals,omitempty"`
	// Duration is the measured time. Warmup runs before it, and counts in no figure but
	// the audit's.
	Duration time.Duration `json:"duration_ns"`
	Warmup   time.Duration `json:"warmup_ns"`
	// TTL is the lease requested, at least 1 ms.
	TTL time.Duration `json:"ttl_ns"`
	// Wait limits one Acquire or TryAcquire; a longer one counts as a timeout. 0 means
	// until the drain ends, see Run.
	Wait time.Duration `json:"wait_ns"`
	// Op is what a worker does. The zero value is acquire-release.
	Op Op `json:"op"`
	// Seed fixes all random draws: names, holds, thinks, and the operations of a mix. In an
	// open loop each process has one sequence, whichever worker takes an arrival; in a
	// closed loop each worker has one.
	Seed uint64 `json:"seed"`
	// KeyPrefix begins every lock name. If it is empty, the run makes a random one, so that
	// runs collide neither with each other nor with foreign keys.
	KeyPrefix string `json:"key_prefix,omitempty"`
	// History is the number of latest events that each process keeps of each name for
	// Result.History; 0 is none. Each event costs a lock and a copy, so it is for few names.
	History int `json:"history,omitempty"`
	// Kept is the number of names beside Keys whose locks each process keeps alive, for Result.Kept. One process has such a
	// lock, and the others wait for it.
	Kept int `json:"kept,omitempty"`
	// Outages says that faults may take a majority away on purpose. A time without any
	// acquisition then does not make the figures invalid.
	Outages bool `json:"-"`
	// Progress, when set, is called from a goroutine of its own: with an empty Point when
	// the warm-up and the measured time begin, then about once a second, and at the end with
	// the Result. A slow one misses calls and delays the end of the run, never its load.
	Progress func(Progress) `json:"-"`
	// Begin, when set, is called once, before the first operation, with the moment at which
	// the run begins. That may lie ahead. The measured time begins Warmup later.
	Begin func(time.Time) `json:"-"`

	proc int // number of this process, from 0; set by RunPart
}

// Progress is the state of a run at one moment.
type Progress struct {
	Impl    string
	Round   int               // as in Result
	Setting map[string]string // as in Result
	Warmup  bool              // still warming up: Point is not part of the result
	Elapsed time.Duration     // since the warm-up or the measured time began
	Total   time.Duration     // planned length of that phase
	Point   Point             // the interval since the last call
	Totals  Totals            // of this process in the measured time, so far
	Result  *Result           // set in the last call of a run only
}

// Validate reports the first field that is wrong, as a ConfigError.
func (c Config) Validate() error {
	switch {
	case c.Workers < 1 || c.Workers > maxWorkers:
		return wrong("Workers", "workers", "must be 1 to %d, got %d", maxWorkers, c.Workers)
	case c.Procs < 0 || c.procs() > maxProcs || c.procs()*(c.Workers+c.Kept) > maxWorkers:
		return wrong("Procs", "procs", "must be 1 to %d and have at most %d workers together, got %d", maxProcs, maxWorkers, c.Procs)
	case c.Dist.kind != distOwn && (c.Keys < 1 || c.Keys > maxKeys):
		return wrong("Keys", "keys", "must be 1 to %d with dist %s, got %d", maxKeys, c.Dist, c.Keys)
	case !c.Dist.valid():
		return wrong("Dist", "dist", "has a parameter that makes no sense: %s", c.Dist)
	case !c.Hold.valid():
		return wrong("Hold", "hold", "must not be negative, nor spread too far, got %s", c.Hold)
	case !c.Think.valid():
		return wrong("Think", "think", "must not be negative, nor spread too far, got %s", c.Think)
	case c.Rate != 0 && !(c.Rate >= MinRate && c.Rate <= MaxRate):
		return wrong("Rate", "rate", "must be 0 (closed loop) or %v to %d per second, got %v", MinRate, MaxRate, c.Rate)
	case c.Rate > 0 && c.Think.Mean() > 0:
		return wrong("Think", "think", "has no meaning in an open loop (rate %v)", c.Rate)
	case c.Arrivals != "" && c.Arrivals != ArrivalsPoisson && c.Arrivals != ArrivalsUniform:
		return wrong("Arrivals", "arrivals", "must be %s or %s, got %q", ArrivalsPoisson, ArrivalsUniform, c.Arrivals)
	case c.Duration <= 0:
		return wrong("Duration", "duration", "must be above 0, got %s", c.Duration)
	case c.Warmup < 0:
		return wrong("Warmup", "warmup", "must not be negative, got %s", c.Warmup)
	case c.TTL < minTTL:
		return wrong("TTL", "ttl", "must be at least %s, got %s", minTTL, c.TTL)
	case c.History < 0 || c.History > 0 && c.keys() > spreadNames:
		return wrong("History", "keys", "must be at most %d to keep a history of each, got %d", spreadNames, c.keys())
	case c.Kept < 0:
		return wrong("Kept", "", "must not be negative, got %d", c.Kept)
	case c.Wait < 0:
		return wrong("Wait", "wait", "must not be negative, got %s", c.Wait)
	case c.Dist.kind != distOwn && c.Keys < c.Op.names():
		return wrong("Keys", "keys", "must be at least %d with op %s, got %d", c.Op.names(), c.Op, c.Keys)
	case c.Op == Hold && c.Dist.kind != distOwn:
		return wrong("Dist", "dist", "must be own with op %s: nobody else gets a name while it is held", c.Op)
	case c.Op == Hold && c.Hold.Mean() > 0:
		return wrong("Hold", "hold", "has no meaning with op %s, which holds all the time", c.Op)
	case c.Op == Hold && c.Think.Mean() > 0:
		return wrong("Think", "think", "has no meaning with op %s, which holds all the time", c.Op)
	case c.Op == Hold && (c.Keys < 1 || c.Keys > maxKeys):
		return wrong("Keys", "keys", "must be 1 to %d with op hold, got %d", maxKeys, c.Keys)
	case c.Op == Hold && c.Rate > 0:
		return wrong("Rate", "rate", "has no meaning with op hold")
	case c.keys() > maxKeys:
		return wrong("Workers", "workers", "must not have more than %d names together, got %d with op %s", maxKeys, c.keys(), c.Op)
	case TableSize(c) > maxTable:
		return wrong("Keys", "keys", "must be fewer with op %s: what workers share about %d names takes %d MiB, of at most %d", c.Op, c.keys(), TableSize(c)>>20, maxTable>>20)
	}
	return nil
}

// names returns the number of names that the run uses.
func (c Config) names() int { return c.keys() + c.Kept }

// keys returns the number of names that workers use.
func (c Config) keys() int {
	if c.Dist.kind == distOwn && c.Op != Hold {
		return c.Workers * c.procs() * c.Op.names()
	}
	return c.Keys
}

// Waits reports whether workers share names and wait for each other there.
func (c Config) Waits() bool { return c.Dist.kind != distOwn && c.Op.waits() }

func (c Config) procs() int { return max(c.Procs, 1) }

// shareOf returns how many names the worker of that number holds with op hold.
func (c Config) shareOf(number int) int {
	all := c.Workers * c.procs()
	return max(c.Keys-number+all-1, 0) / all
}

// first returns the number of this process's first worker.
func (c Config) first() int { return c.proc * c.Workers }

// stream returns the number of this process's n-th random stream.
func (c Config) stream(n uint64) uint64 { return uint64(c.proc)*streamsEach + n }

func wrong(field, flag, format string, args ...any) error {
	return &ConfigError{Field: field, Flag: flag, Reason: fmt.Sprintf(format, args...)}
}

// Values of Config.Arrivals, and the limits of a rate. At MinRate and with the most processes,
// the time of the next arrival still fits into nanoseconds.
const (
	ArrivalsPoisson = "poisson" // exponential gaps, as independent callers make them
	ArrivalsUniform = "uniform" // equal gaps
	MinRate         = 0.001
	MaxRate         = 10_000_000
)
