package bench

import (
	"errors"
	"fmt"
	"strings"
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
	// Rounds is the number of runs of this load, of which Run makes one; 0 means 1. The samples of all of them are the base
	// of a percentile, so each needs its share of them to be valid.
	Rounds int `json:"rounds"`
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
	Result  *Result           // set in the last call of a run only
}

// Validate reports the first field that is wrong, as a ConfigError.
func (c Config) Validate() error {
	shared, holds := c.Dist.kind != distOwn, c.Op == Hold
	for _, rule := range []struct {
		broken bool
		field  string // its flag has the same name
		reason string
		got    any
	}{
		{c.Workers < 1 || c.Workers > maxWorkers, "Workers", fmt.Sprintf("must be 1 to %d", maxWorkers), c.Workers},
		{c.Procs < 0 || c.procs() > maxProcs || c.procs()*(c.Workers+c.Kept) > maxWorkers, "Procs", fmt.Sprintf("must be 1 to %d and have at most %d workers together", maxProcs, maxWorkers), c.Procs},
		{(shared || holds) && (c.Keys < 1 || c.Keys > maxKeys), "Keys", fmt.Sprintf("must be 1 to %d with dist %s and op %s", maxKeys, c.Dist, c.Op), c.Keys},
		{!c.Dist.valid(), "Dist", "has a parameter that makes no sense", c.Dist},
		{!c.Hold.valid(), "Hold", "must not be negative, nor spread too far", c.Hold},
		{!c.Think.valid(), "Think", "must not be negative, nor spread too far", c.Think},
		{c.Rate != 0 && !(c.Rate >= MinRate && c.Rate <= MaxRate), "Rate", fmt.Sprintf("must be 0 (closed loop) or %v to %d per second", MinRate, MaxRate), c.Rate},
		{c.Rate > 0 && c.Think.Mean() > 0, "Think", "has no meaning in an open loop (--rate)", c.Think},
		{c.Arrivals != "" && c.Arrivals != ArrivalsPoisson && c.Arrivals != ArrivalsUniform, "Arrivals", "must be " + ArrivalsPoisson + " or " + ArrivalsUniform, c.Arrivals},
		{c.Duration <= 0, "Duration", "must be above 0", c.Duration},
		{c.Warmup < 0, "Warmup", "must not be negative", c.Warmup},
		{c.TTL < minTTL, "TTL", fmt.Sprintf("must be at least %s", minTTL), c.TTL},
		{c.Wait < 0, "Wait", "must not be negative", c.Wait},
		{shared && c.Keys < c.Op.names(), "Keys", fmt.Sprintf("must be at least %d with op %s", c.Op.names(), c.Op), c.Keys},
		{holds && shared, "Dist", "must be own with op hold: nobody else gets a name while it is held", c.Dist},
		{holds && c.Hold.Mean() > 0, "Hold", "has no meaning with op hold, which holds all the time", c.Hold},
		{holds && c.Think.Mean() > 0, "Think", "has no meaning with op hold, which holds all the time", c.Think},
		{holds && c.Rate > 0, "Rate", "has no meaning with op hold", c.Rate},
		{c.History > 0 && c.keys() > spreadNames, "Keys", fmt.Sprintf("must be at most %d to keep a history of each", spreadNames), c.keys()},
		{c.keys() > maxKeys, "Workers", fmt.Sprintf("must not have more than %d names together with op %s", maxKeys, c.Op), c.keys()},
		{TableSize(c) > maxTable, "Keys", fmt.Sprintf("must be fewer with op %s: what workers share about them takes %d MiB, of at most %d", c.Op, TableSize(c)>>20, maxTable>>20), c.keys()},
	} {
		if rule.broken {
			return wrong(rule.field, strings.ToLower(rule.field), "%s, got %v", rule.reason, rule.got)
		}
	}
	if c.History < 0 || c.Kept < 0 {
		return wrong("History", "", "History and Kept must not be negative, got %d and %d", c.History, c.Kept)
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

func (c Config) workload() Workload {
	if c.Dist.kind == distOwn {
		return Own
	}
	return Contended
}

// Waits reports whether workers share names and wait for each other there.
func (c Config) Waits() bool { return c.Dist.kind != distOwn && c.Op.waits() }

func (c Config) procs() int { return max(c.Procs, 1) }

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
