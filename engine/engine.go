package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/engine/internal/inside"
	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// Engine holds the connections to a set of masters and acquires locks on them. It
// is safe for concurrent use; one Engine per process and set of masters is enough for
// any number of goroutines and names.
type Engine struct {
	cfg     Config // with defaults; fixed after New
	pipe    pipe
	router  inside.Router // pipe, if it is a Router; else nil
	names   nameTable
	keeper  keeper
	took    atomic.Int64 // how long an attempt takes, smoothed; ns
	record  *record
	closing chan struct{} // closed by the first Close
	close   sync.Once
	running sync.WaitGroup // the keeper and the watch of measures
	sets    atomic.Uint64  // attempts at sets and permits so far
	began   clock.Instant  // fixed
	looked  atomic.Int64   // when a stranger was last looked for; ns since began
}

// A pipe carries the engine's requests: a Pipeline, or a router of package groups.
type pipe = inside.Pipe

// at returns the pipe of a key.
func (e *Engine) at(key string) pipe {
	if e.router != nil {
		return e.router.Of(key)
	}
	return e.pipe
}

// New checks cfg and asks all masters side by side. It returns once each has answered or failed, within a
// second or two, or when ctx ends; ctx is not used afterwards. New works while a minority of masters is
// away: they are probed in the background. Masters that were started just now count as working, although
// they do not vote yet (Ready waits for their votes).
//
// A master is ruled out if waiting for it does not help: its server says why it will not do (a wrong password, a missing
// right or command, cluster mode, a Sentinel, protected mode, no run_id), or TLS does not accept a certificate. Such a
// master is away like others, and is tried again. A running engine takes it the same way.
//
// Errors: ErrInvalid for a wrong field, a missing database, one server under two addresses, or if masters that are ruled
// out leave no quorum even when all others return; ErrConfigMismatch for masters of another set; ErrNoQuorum otherwise. A
// StartError has each failed master's error: the server's words, and what to do.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	cfg.Masters = slices.Clone(cfg.Masters)
	masters, err := cfg.check()
	if err != nil {
		return nil, err
	}
	record := newRecord(&cfg)
	pipe, err := pipeline.New(ctx, pipeline.Config{
		Masters: masters, Timeout: cfg.MasterTimeout, Queue: cfg.Queue,
		Wait: cfg.restartWait(), MastersAreDurable: cfg.MastersAreDurable, MastersAreNew: cfg.MastersAreNew, Changed: record.master,
		Fencing: cfg.Fencing, MaxTTL: cfg.MaxTTL, ReadOnly: cfg.ReadOnly,
	})
	if err == nil {
		record.assumed(&cfg, masters)
		return newEngine(cfg, pipe, record), nil
	}
	record.queue.Close()
	switch start := (*pipeline.StartError)(nil); {
	case errors.As(err, &start) && start.Misconfigured:
		return nil, fmt.Errorf("%w: Masters: %w", ErrInvalid, err)
	case errors.Is(err, ErrConfigMismatch):
		return nil, err
	}
	return nil, fmt.Errorf("%w: %w", ErrNoQuorum, err)
}

func newEngine(cfg Config, pipe pipe, record *record) *Engine {
	e := &Engine{cfg: cfg, pipe: pipe, record: record, closing: make(chan struct{}), began: clock.Now()}
	e.router, _ = pipe.(inside.Router)
	e.names.init()
	e.keeper.e, e.keeper.wakeup, e.keeper.eroded = e, make(chan struct{}, 1), make(map[*lease]*erosion)
	e.running.Go(func() { e.keeper.run(e.closing) })
	if cfg.Measure {
		e.record.measure = newMeasures()
		e.running.Go(func() { e.record.measure.watch(e.closing) })
	}
	return e
}

// Ready returns nil once a quorum of masters votes. A master votes when it can be reached and its start is
// long enough ago, half a minute by default (Config.MastersAreDurable). Ready blocks until then or until
// ctx ends; with a ctx that has ended it returns the present state. Calling it is optional: Acquire waits
// likewise.
//
// Errors: ErrNoQuorum, joined to ctx's error; at once with ErrConfigMismatch, or in package groups that alone; ErrClosed.
// ErrNoQuorum comes with a NotReadyError: each missing master's reason, and the time left if known.
func (e *Engine) Ready(ctx context.Context) error {
	err := e.pipe.Ready(ctx)
	if errors.Is(err, ErrClosed) || !errors.As(err, new(*NotReadyError)) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNoQuorum, err)
}

// Acquire takes the lock name (at most 512 bytes, Config.Prefix included) for ttl (0 = Config.TTL; whole
// milliseconds). It waits until ctx ends, or its budget (WithWait) or Config.MaxAttempts is used up. The
// returned lock has validity left. Goroutines of one engine that want
// the same name queue in order of arrival. One of them asks the masters, with a random delay before each
// further attempt. A released lock is handed over to the next goroutine, with as little as half of ttl left.
// Where other processes want the name, Acquire stands in line. A lock that another process passes on has a short lease
// at first (package comment, Waiting).
//
// ctx ends only the wait: an acquire that has been sent is followed by its release on every master. With a
// ctx that has ended already, nothing is sent.
//
// Errors: ErrTaken, ErrNoQuorum or ErrExpired of the last attempt at the name, even if another goroutine of
// this process made it; ErrNoQuorum if no attempt was decided; ErrDenied or ErrConfigMismatch, after which
// Acquire does not try again; ErrInvalid; ErrOverloaded; ErrClosed. ctx's error is joined if it ended the wait. errors.As finds
// the votes as an *AttemptError. Acquire follows the Redlock algorithm of redis.io.
func (e *Engine) Acquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, e.cfg.MaxAttempts, e.cfg.WaitWhenFull, exclusive)
}

// TryAcquire is Acquire with one attempt. It returns ErrTaken when somebody holds the lock, or another error
// of Acquire, within about twice Config.MasterTimeout. While somebody in this engine holds the lock or
// waits for it, TryAcquire returns ErrTaken without asking the masters.
func (e *Engine) TryAcquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, 1, false, exclusive)
}

// Do acquires the lock, keeps it alive while fn runs and releases it, even when fn panics. The ctx of fn
// carries the lock (LockFrom). It ends when ctx does, or when the lock is lost, with Err's error as its
// cause. Renewals go on after ctx has ended, until fn returns, since fn may still be at work. fn can bound
// the renewals by its lock's KeepAlive. The release does not depend on ctx.
//
// Do returns Acquire's error if fn was not called, else fn's error. It joins ErrLost if the lock was lost
// meanwhile, and Release's error if the release was not confirmed. A nil fn is ErrInvalid, before anything
// is sent.
func (e *Engine) Do(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) error {
	return e.do(ctx, name, ttl, fn, e.Acquire)
}

// TryDo is Do with one attempt, like TryAcquire: for a job that one of many processes does and the others
// skip.
func (e *Engine) TryDo(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) error {
	return e.do(ctx, name, ttl, fn, e.TryAcquire)
}

func (e *Engine) do(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error,
	acquire func(context.Context, string, time.Duration) (*Lock, error)) error {
	if fn == nil {
		return invalid("fn", "is nil")
	}
	lock, err := acquire(ctx, name, ttl)
	if err != nil {
		return err
	}
	return lock.hold(ctx, fn)
}

// Close refuses new calls and ends waiting calls with ErrClosed. It lets calls under way finish, and
// releases the locks that they are granted, for at most about twice Config.MasterTimeout each. Then it
// ends all connections and goroutines. Observer and Logger get the events until then, for at most a
// second. Holders lose their locks, with ErrClosed as the cause. Close does not release these locks at
// the masters, since their holders may still be at work: the leases run out.
func (e *Engine) Close() error {
	e.close.Do(func() {
		close(e.closing)
		e.names.close()
		e.pipe.Refuse()
	})
	select {
	case <-e.names.drained:
	case <-time.After(2 * e.cfg.MasterTimeout):
	}
	e.running.Wait()
	e.pipe.Close()
	e.record.queue.Close()
	return nil
}

// undo sends a release that nobody waits for.
func (e *Engine) undo(req pipeline.Request) {
	if req.Op != pipeline.Pass {
		req.Op, req.Set, req.OneOf = pipeline.Release, 0, false
	}
	e.at(req.Name).Post(req)
}

// refusal returns the error for the outcome of an extend or a release.
func (e *Engine) refusal(op operation, out pipeline.Outcome) error {
	kind := kindOf(out.Verdict, ErrNotHeld)
	switch {
	case out.Verdict == quorum.Won:
		return nil
	case out.Denied != nil && out.Verdict == quorum.NoQuorum: // else enough masters have answered
		kind = ErrDenied
	}
	return newAttemptError(kind, op, len(e.cfg.Masters), out)
}
