package engine

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"muxlock/engine/internal/inside"
	"muxlock/internal/limits"
	"muxlock/internal/redlock"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

// Config is read once, by New. Only Masters must be set. All processes that share locks must agree on Masters and MaxTTL.
type Config struct {
	// Masters are the addresses of independent masters, an odd number, one per server, never replicas: host:port, or as
	// rueidis.ParseURL takes them: redis://user:password@host:port/db, rediss:// for TLS (?skip_verify=true is for tests
	// only), unix://user:password@/path?db=1.
	Masters []string
	// Client is the template for every connection: Username, Password or AuthCredentialsFn, TLSConfig, ClientName, SelectDB,
	// Dialer, DialCtxFn. Parts of a master's URL override it. New refuses fields that would break a rule of the lock, and
	// fields that it sets itself. A function that does not return within a second or twice MasterTimeout is given up.
	Client rueidis.ClientOption

	// Prefix begins the key of every lock on the masters, for an ACL or beside other data. Callers use and see names without
	// it. Processes that share locks must agree on it. It must not begin with __muxlock__:. Default none.
	Prefix string

	// Holder identifies this process to those who inspect its locks (admin.Inspect): host, process id, a label. At most 64
	// bytes of printable UTF-8, no secret. It is part of the lock's value, for up to 17 % more of the masters' time. Default
	// none.
	Holder string

	// TTL is the lease of calls that ask for ttl 0. Default 10 s. Longer, and a crashed holder blocks others for longer. Too
	// short, and a pause of the holder outlives the lease.
	TTL time.Duration
	// MaxTTL is the longest lease that any client of these masters may ask for, clients of other libraries included. Default:
	// the larger of 30 s and TTL. Shorter than a lease in use, and a restarted master may grant a lock that is held. Longer
	// than needed, and a restarted master waits longer before it votes.
	MaxTTL time.Duration
	// MasterTimeout is how long a master may take for a batch, before it is set aside. Default 200 ms. Too short, and a slow
	// moment costs a reconnect; too long, and a call that needs the hung master waits.
	MasterTimeout time.Duration
	// Drift is the largest relative error between the clocks' rates, of masters and clients. Default 0.01. Validity is
	// shortened by ttl*Drift + 2ms.
	Drift float64

	// MastersAreDurable asserts that every master, at all times, writes each command to disk before it answers (appendonly
	// yes, appendfsync always), so that a restart loses nothing. Default false: a master that was restarted, or whose uptime
	// is short at first contact, casts no vote for MaxTTL*(1+Drift) + 1s + 2ms. One that was a replica meanwhile waits in
	// either case. If true and wrong, a master may grant a lost lock again.
	MastersAreDurable bool
	// MastersAreNew asserts that the masters have never granted a lock when New connects to them, so that they vote at once.
	// It is for tests and the very first start: leave it out of a permanent configuration. Default false. If true and wrong,
	// two may hold a lock: a service may restart soon after a master did.
	MastersAreNew bool

	// Fencing gives every lock a fence (Lock.Fence), and no vote to a master that lost its data or has another master's. It
	// needs masters that were set up, once (muxlock masters init, admin.SetUp). A cycle costs 1.05 times as much for a lone
	// caller, 1.6 times where the masters' CPU is the limit. Default false. engine/README.md, Fencing, says more.
	Fencing bool

	// ReadOnly is for tools that look at locks and take none: New goes on where too few masters are of one set
	// (ErrConfigMismatch), and package groups writes no note of its map. Default false.
	ReadOnly bool

	// MaxAttempts bounds how often one Acquire asks the masters; 0 = until its ctx ends. A wait behind other callers here does
	// not count, but with 1 there is none. A place in line among other processes is one attempt.
	MaxAttempts int
	// RetryHeld is the mean delay before the next attempt when somebody holds the lock or too few masters answer, drawn from
	// 0.5 to 1.5 times that. Default 25 ms. A shorter delay finds a freed lock sooner, and costs the masters more.
	RetryHeld time.Duration
	// RetrySplit bounds the random delay after a split vote, where several callers came at once and none got a quorum. It
	// doubles with each further split, up to RetryHeld. Default 2 ms; it should be several round trips.
	RetrySplit time.Duration

	// HandOverTime bounds for how long the goroutines of one engine may hand a lock over among themselves, 65535 times at
	// most, before other processes have their turn. Default 20 ms. A longer time is faster for many waiters in one process,
	// and unfair to waiters in others. With 1 ns every release goes to the masters.
	HandOverTime time.Duration

	// Observer and Logger are notified of events; both may be nil. At level Error the Logger gets masters that do not vote
	// until somebody acts: those of another set, and with Fencing those that lost their data while too few others vote. At
	// level Warn: locks lost, masters set aside, leaders (Lead) that failed or go on without their lock; unconfirmed releases
	// and failed renewals, the first of each, then how many came within ten seconds. At level Info: masters that are up but
	// must wait, and how long; masters that begin to vote; once, the settings on which all processes must agree. At level
	// Debug: masters whose idle connection ended, and that answer at once. Neither gets a token or a password.
	Observer *Observer
	Logger   *slog.Logger

	// Tracer puts acquires, holds and releases into the traces of their callers (package lockotel). Default nil.
	Tracer *Tracer

	// Measure records, for Engine.Measured, how long locks are held and acquires take, and how long this process pauses.
	// Default false. It costs some 60 ns a lock (a tenth of the throughput where many callers use all of the CPU), 200 kB, and
	// a thread that wakes 100 times a second (1 % of a core).
	Measure bool

	// Queue is how many acquires may wait to be sent. Default 65536. Releases, renewals and extends always find room. While it
	// is full, Acquire is refused at once, even where a caller here would have handed the lock over. A Queue below 8 is for a
	// process that takes a few locks and ends: the engine connects in fewer round trips.
	Queue int
	// WaitWhenFull makes Acquire, but not TryAcquire, wait when the queue is full, instead of returning ErrOverloaded.
	WaitWhenFull bool
}

const (
	defaultTTL           = 10 * time.Second
	defaultMasterTimeout = 200 * time.Millisecond
	defaultRetryHeld     = 25 * time.Millisecond
	defaultRetrySplit    = 2 * time.Millisecond
	defaultQueue         = 1 << 16
)

func (c Config) withDefaults() Config {
	c.TTL = cmp.Or(c.TTL, defaultTTL)
	c.MaxTTL = cmp.Or(c.MaxTTL, min(max(redlock.DefaultMaxTTL, c.TTL), limits.TTL))
	c.MasterTimeout = cmp.Or(c.MasterTimeout, defaultMasterTimeout)
	c.Drift = cmp.Or(c.Drift, redlock.DefaultDrift)
	c.RetryHeld = cmp.Or(c.RetryHeld, defaultRetryHeld)
	c.RetrySplit = cmp.Or(c.RetrySplit, min(defaultRetrySplit, c.RetryHeld))
	c.HandOverTime = cmp.Or(c.HandOverTime, redlock.DefaultHandOverTime)
	c.Queue = cmp.Or(c.Queue, defaultQueue)
	return c
}

// Validate returns the ErrInvalid that New would return for c alone, and with names also the one that AcquireAll would
// return for them. It asks nothing of the masters.
func (c Config) Validate(names ...string) error {
	c = c.withDefaults()
	_, err := c.check()
	if err == nil && len(names) > 0 {
		_, err = c.keys(names)
	}
	return err
}

// check returns the errors that New finds before it connects.
func (c Config) check() ([]pipeline.Master, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if err := checkTemplate(c.Client); err != nil {
		return nil, err
	}
	return parseMasters(c.Masters, c.Client)
}

// validate returns ErrInvalid with the name of the first field that is wrong.
func (c Config) validate() error {
	switch {
	case len(c.Masters) == 0:
		return invalid("Masters", "is empty; at least one address is needed")
	case len(c.Masters) > limits.Masters:
		return invalid("Masters", "has %d addresses, more than %d", len(c.Masters), limits.Masters)
	case strings.HasPrefix(c.Prefix, pipeline.ReservedPrefix):
		return invalid("Prefix", "begins with the reserved prefix %q", pipeline.ReservedPrefix)
	case len(c.Prefix) >= limits.NameBytes:
		return invalid("Prefix", "has %d bytes and leaves none of %d for a name", len(c.Prefix), limits.NameBytes)
	case len(c.Holder) > limits.HolderBytes:
		return invalid("Holder", "has %d bytes, more than %d", len(c.Holder), limits.HolderBytes)
	case !token.Printable(c.Holder):
		return invalid("Holder", "%q is not printable UTF-8", c.Holder)
	case c.MasterTimeout < time.Millisecond || c.MasterTimeout > time.Minute:
		return invalid("MasterTimeout", "%v is not between 1ms and 1m", c.MasterTimeout)
	case math.IsNaN(c.Drift) || c.Drift < 0 || c.Drift >= 0.5:
		return invalid("Drift", "%v is not between 0 and 0.5", c.Drift)
	case c.MaxTTL < time.Millisecond || c.MaxTTL > limits.TTL:
		return invalid("MaxTTL", "%v is not between 1ms and %v", c.MaxTTL, limits.TTL)
	case c.MaxAttempts < 0:
		return invalid("MaxAttempts", "%d is negative", c.MaxAttempts)
	case c.RetryHeld < 0 || c.RetryHeld > time.Minute:
		return invalid("RetryHeld", "%v is not between 0 and 1m", c.RetryHeld)
	case c.RetrySplit < 0 || c.RetrySplit > time.Minute:
		return invalid("RetrySplit", "%v is not between 0 and 1m", c.RetrySplit)
	case c.Fencing && c.MastersAreNew:
		return invalid("MastersAreNew", "has no meaning with Fencing: it is asserted when the masters are set up")
	case c.HandOverTime < 0 || c.HandOverTime > time.Minute:
		return invalid("HandOverTime", "%v is not between 0 and 1m", c.HandOverTime)
	case c.Queue < 1:
		return invalid("Queue", "%d is not positive", c.Queue)
	}
	if _, err := c.lease(c.TTL); err != nil {
		return fmt.Errorf("Config.TTL: %w", err)
	}
	return nil
}

// lease returns the length of a lease in whole milliseconds, as the masters count it.
func (c *Config) lease(ttl time.Duration) (time.Duration, error) {
	ttl = cmp.Or(ttl, c.TTL)
	switch {
	case ttl < time.Millisecond:
		return 0, invalid("ttl", "%v is below 1ms", ttl)
	case ttl > c.MaxTTL:
		return 0, invalid("ttl", "%v is above MaxTTL %v", ttl, c.MaxTTL)
	}
	ttl = ttl.Truncate(time.Millisecond)
	if left := redlock.Validity(ttl, c.MasterTimeout, c.Drift); left <= 0 {
		return 0, invalid("ttl", "%v leaves no validity after MasterTimeout %v and drift %v",
			ttl, c.MasterTimeout, redlock.DriftAllowance(ttl, c.Drift))
	}
	return ttl, nil
}

// setup returns the set-up of c's masters. A set-up needs no lease, so TTL is only the default of MaxTTL.
func (c Config) setup() (s pipeline.Setup, err error) {
	c = c.withDefaults()
	c = Config{Masters: c.Masters, Client: c.Client, TTL: c.MaxTTL, MaxTTL: c.MaxTTL, MasterTimeout: c.MasterTimeout, Drift: c.Drift}.withDefaults()
	masters, err := c.check()
	return pipeline.Setup{Masters: masters, Timeout: c.MasterTimeout, MaxTTL: c.MaxTTL, Wait: c.restartWait()}, err
}

// restartWait is how long a restarted master casts no vote.
func (c *Config) restartWait() time.Duration { return redlock.RestartWait(c.MaxTTL, c.Drift) }

// key returns the key of a name's lock on the masters.
func (c *Config) key(name string) (string, error) {
	key := c.Prefix + name
	switch {
	case name == "":
		return "", invalid("name", "is empty")
	case len(key) > limits.NameBytes:
		return "", invalid("name", "has %d bytes with its prefix, more than %d", len(key), limits.NameBytes)
	case strings.HasPrefix(key, pipeline.ReservedPrefix):
		return "", invalid("name", "begins, with its prefix, with the reserved prefix %q", pipeline.ReservedPrefix)
	}
	return key, nil
}

// keys returns the keys of the names of a set.
func (c *Config) keys(names []string) ([]string, error) {
	switch {
	case len(names) == 0:
		return nil, invalid("names", "is empty")
	case len(names) > c.Queue:
		return nil, invalid("names", "has %d names, more than Config.Queue takes: %d", len(names), c.Queue)
	case len(names) > limits.SetNames:
		return nil, invalid("names", "has %d names, more than %d: a master takes them in one step, and serves nobody else meanwhile", len(names), limits.SetNames)
	}
	keys, places := make([]string, len(names)), make(map[string]int, len(names))
	for i, name := range names {
		key, err := c.key(name)
		if err != nil {
			return nil, fmt.Errorf("names[%d]: %w", i, err)
		}
		if first, twice := places[name]; twice {
			return nil, invalid(fmt.Sprintf("names[%d]", i), "%q is names[%d], too", name, first)
		}
		keys[i], places[name] = key, i
	}
	return keys, nil
}

// nameOf returns the caller's name for a key.
func (c *Config) nameOf(key string) string {
	_, key = inside.SlotOf(key)
	return key[len(c.Prefix):]
}
