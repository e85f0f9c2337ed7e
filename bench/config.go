package bench

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrConfig is matched by every error of Config.Validate and of the Parse
// functions: the caller asked for something that no run can do.
var ErrConfig = errors.New("bench: invalid configuration")

// Limits that Validate holds.
const (
	maxWorkers = 1 << workerBits // as the audit keeps a worker's number
	maxKeys    = 1 << 26
	minTTL     = time.Millisecond
)

// Config describes one run. It is read once, when the run begins, and its JSON
// form is the workload part of a Document's config.
type Config struct {
	// Workers is the number of goroutines that lock, in each process. In an open loop it is the
	// most operations that can be in flight. Too few: the rate cannot be met.
	Workers int `json:"workers"`
	// Procs is the number of processes, each with Workers of its own; 0 means 1.
	// Run is one process; RunPart is one of several.
	Procs int `json:"procs,omitempty"`
	// Keys is the number of distinct lock names for uniform and zipf. With the
	// own distribution it is ignored: every worker has a name to itself, but with
	// op hold, where the workers share all out among them.
	Keys int `json:"keys"`
	// Dist chooses the name of an operation. The zero value is own.
	Dist Dist `json:"dist"`
	// Hold is the time a lock is held, Think the pause of a worker between two
	// operations (closed loop only). Neither counts as latency.
	Hold  Span `json:"hold"`
	Think Span `json:"think"`
	// Rate is the number of operations that arrive per second, at all processes together. Above 0 the loop
	// is open; 0 means closed: a worker begins again when it has finished.
	Rate float64 `json:"rate"`
	// Arrivals is poisson (the default) or uniform. Open loop only.
	Arrivals string `json:"arrivals,omitempty"`
	// Duration is the measured time; Warmup runs before it and leaves no trace
	// in any figure but the audit's.
	Duration time.Duration `json:"duration_ns"`
	Warmup   time.Duration `json:"warmup_ns"`
	// TTL is the lease asked for, at least 1 ms.
	TTL time.Duration `json:"ttl_ns"`
	// Wait is how long one Acquire may wait; then it counts as a timeout. 0
	// means until the run ends. TryAcquire gets the same limit.
	Wait time.Duration `json:"wait_ns"`
	// Op is what a worker does. The zero value is acquire-release.
	Op Op `json:"op"`
	// Seed fixes the names and the arrivals of the run.
	Seed uint64 `json:"seed"`
	// KeyPrefix begins every lock name. Empty: a random one is made for the run,
	// so that runs collide neither with each other nor with foreign keys.
	KeyPrefix string `json:"key_prefix,omitempty"`
	// Progress, when set, is called from a goroutine of its own: when the warm-up and
	// the measured time begin, with an empty Point, then about once a second, and once
	// at the end with the Result. A slow one misses calls, and
	// delays the end of the run, never its load.
	Progress func(Progress) `json:"-"`

	proc int // number of this process, from 0; set by RunPart
}

// Progress is the state of a run at one moment.
type Progress struct {
	Impl    string
	Round   int               // as in Result
	Setting map[string]string // likewise
	Warmup  bool              // true: still warming up, Point is not part of the result
	Elapsed time.Duration     // since the warm-up or the measured window began
	Total   time.Duration     // planned length of that phase
	Point   Point             // the interval since the last call
	Result  *Result           // nil but in the last call of a run
}

// Validate reports the first field that is wrong, by its name and its flag. The
// error matches ErrConfig.
func (c Config) Validate() error {
	switch {
	case c.Workers < 1 || c.Workers > maxWorkers:
		return wrong("Workers", "workers", "must be 1 to %d, got %d", maxWorkers, c.Workers)
	case c.Procs < 0 || c.procs() > maxProcs || c.procs()*c.Workers > maxWorkers:
		return wrong("Procs", "procs", "must be 1 to %d and have at most %d workers together, got %d", maxProcs, maxWorkers, c.Procs)
	case c.Dist.kind != distOwn && (c.Keys < 1 || c.Keys > maxKeys):
		return wrong("Keys", "keys", "must be 1 to %d with dist %s, got %d", maxKeys, c.Dist, c.Keys)
	case c.Dist.kind == distZipf && !(c.Dist.s > 0 && c.Dist.s <= maxZipf):
		return wrong("Dist", "dist", "zipf exponent must be above 0 and at most %d, got %v", maxZipf, c.Dist.s)
	case c.Hold.mean < 0:
		return wrong("Hold", "hold", "must not be negative, got %s", c.Hold)
	case c.Think.mean < 0:
		return wrong("Think", "think", "must not be negative, got %s", c.Think)
	case c.Rate < 0 || c.Rate > maxRate || math.IsNaN(c.Rate):
		return wrong("Rate", "rate", "must be 0 (closed loop) or up to %d per second, got %v", maxRate, c.Rate)
	case c.Rate > 0 && c.Think.mean > 0:
		return wrong("Think", "think", "has no meaning in an open loop (rate %v)", c.Rate)
	case c.Arrivals != "" && c.Arrivals != Poisson && c.Arrivals != Even:
		return wrong("Arrivals", "arrivals", "must be %s or %s, got %q", Poisson, Even, c.Arrivals)
	case c.Duration <= 0:
		return wrong("Duration", "duration", "must be above 0, got %s", c.Duration)
	case c.Warmup < 0:
		return wrong("Warmup", "warmup", "must not be negative, got %s", c.Warmup)
	case c.TTL < minTTL:
		return wrong("TTL", "ttl", "must be at least %s, got %s", minTTL, c.TTL)
	case c.Wait < 0:
		return wrong("Wait", "wait", "must not be negative, got %s", c.Wait)
	case c.Op > Hold:
		return wrong("Op", "op", "is unknown: %d", c.Op)
	case c.Op >= Extend && c.Dist.kind != distOwn:
		return wrong("Dist", "dist", "must be own with op %s: nobody else gets a name while it is held", c.Op)
	case c.Op >= Extend && c.Hold.mean > 0:
		return wrong("Hold", "hold", "has no meaning with op %s, which holds all the time", c.Op)
	case c.Op == Hold && (c.Keys < 1 || c.Keys > maxKeys):
		return wrong("Keys", "keys", "must be 1 to %d with op hold, got %d", maxKeys, c.Keys)
	case c.Op == Hold && c.Rate > 0:
		return wrong("Rate", "rate", "has no meaning with op hold")
	}
	return nil
}

// keys is the number of names that the run uses.
func (c Config) keys() int {
	if c.Dist.kind == distOwn && c.Op != Hold {
		return c.Workers * c.procs()
	}
	return c.Keys
}

// waits tells whether workers wait for each other at names that they share.
func (c Config) waits() bool { return c.Dist.kind != distOwn && c.Op == AcquireRelease }

func (c Config) procs() int { return max(c.Procs, 1) }

// share is how many of the names op hold keeps in this process.
func (c Config) share() (n int) {
	for i := range c.Workers {
		n += c.shareOf(c.first() + i)
	}
	return n
}

// shareOf is how many of them the worker of that number keeps.
func (c Config) shareOf(number int) int {
	all := c.Workers * c.procs()
	return max(c.Keys-number+all-1, 0) / all
}

// first is the number of this process's first worker.
func (c Config) first() int { return c.proc * c.Workers }

// stream is the number of this process's n-th random stream.
func (c Config) stream(n uint64) uint64 { return uint64(c.proc)*streamsEach + n }

func wrong(field, flag, format string, args ...any) error {
	return fmt.Errorf("%w: --%s (Config.%s) %s", ErrConfig, flag, field, fmt.Sprintf(format, args...))
}

// Values of Config.Arrivals, and the highest rate.
const (
	Poisson = "poisson" // exponential gaps, as independent callers make them
	Even    = "uniform" // equal gaps
	maxRate = 10_000_000
)

// Op is what a worker does in one operation.
type Op uint8

// The operations.
const (
	AcquireRelease Op = iota // Acquire, hold, Release
	Try                      // TryAcquire; when it won: hold, Release
	Extend                   // Extend of one lock, acquired before and released at the end
	Hold                     // Acquire a share of Keys, keep all alive until the run ends
)

var opNames = [...]string{AcquireRelease: "acquire-release", Try: "try", Extend: "extend", Hold: "hold"}

// ParseOp reads acquire-release, try, extend or hold.
func ParseOp(s string) (Op, error) {
	for op, name := range opNames {
		if s == name {
			return Op(op), nil
		}
	}
	return 0, wrong("Op", "op", "must be one of %s, got %q", strings.Join(opNames[:], ", "), s)
}

func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "op(" + strconv.Itoa(int(o)) + ")"
}

// MarshalText and UnmarshalText make an Op a JSON string and a flag value.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what ParseOp reads.
func (o *Op) UnmarshalText(b []byte) (err error) {
	*o, err = ParseOp(string(b))
	return err
}

// A Span is a length of time that each operation draws anew. The zero value is no
// time at all.
type Span struct {
	mean time.Duration
	exp  bool // exponential; else always mean
}

// Fixed is the Span that is always d.
func Fixed(d time.Duration) Span { return Span{mean: d} }

// Exp draws exponential times: mostly short ones and a few of many times the mean.
func Exp(mean time.Duration) Span { return Span{mean, true} }

// ParseSpan reads a duration, such as 1ms, or 0, or exp:MEAN.
func ParseSpan(s string) (Span, error) {
	text, exp := strings.CutPrefix(s, "exp:")
	d, err := time.ParseDuration(text)
	if err != nil {
		return Span{}, fmt.Errorf("%w: a span must be a duration such as 1ms, or exp:1ms, got %q", ErrConfig, s)
	}
	if d < 0 {
		return Span{}, fmt.Errorf("%w: a span must not be negative, got %s", ErrConfig, d)
	}
	return Span{d, exp}, nil
}

// Mean is the mean of the draws.
func (s Span) Mean() time.Duration { return s.mean }

func (s Span) String() string {
	if s.exp {
		return "exp:" + s.mean.String()
	}
	return s.mean.String()
}

// MarshalText and UnmarshalText make a Span a JSON string and a flag value.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseSpan reads.
func (s *Span) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSpan(string(b))
	return err
}

// draw is the time for one operation.
func (s Span) draw(r *rng) time.Duration {
	if s.exp {
		return time.Duration(float64(s.mean) * r.exp())
	}
	return s.mean
}

// Dist is the distribution of operations over lock names.
type Dist struct {
	kind distKind
	s    float64 // exponent of zipf
}

type distKind uint8

const (
	distOwn distKind = iota
	distUniform
	distZipf
)

const maxZipf = 20 // beyond it every draw is rank 1

// Uniform draws every name equally often.
func Uniform() Dist { return Dist{kind: distUniform} }

// Zipf draws the name of rank k with a probability proportional to k^-s; any s
// above 0 is good.
func Zipf(s float64) Dist { return Dist{kind: distZipf, s: s} }

// ParseDist reads own, uniform or zipf:S, for example zipf:0.99.
func ParseDist(text string) (Dist, error) {
	name, arg, found := strings.Cut(text, ":")
	switch {
	case text == "own":
		return Dist{}, nil
	case text == "uniform":
		return Uniform(), nil
	case name == "zipf" && found:
		s, err := strconv.ParseFloat(arg, 64)
		if err == nil && s > 0 && s <= maxZipf {
			return Zipf(s), nil
		}
	}
	return Dist{}, wrong("Dist", "dist", "must be own, uniform or zipf:S with S above 0 and at most %d, got %q", maxZipf, text)
}

func (d Dist) String() string {
	switch d.kind {
	case distUniform:
		return "uniform"
	case distZipf:
		return "zipf:" + strconv.FormatFloat(d.s, 'g', -1, 64)
	default:
		return "own"
	}
}

// MarshalText and UnmarshalText make a Dist a JSON string and a flag value.
func (d Dist) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDist reads.
func (d *Dist) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDist(string(b))
	return err
}
