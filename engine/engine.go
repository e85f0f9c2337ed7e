package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// Engine holds the connections to a set of masters and gives out locks on them. It
// is safe for concurrent use; one per process and set of masters is enough for any
// number of goroutines and names.
type Engine struct {
	cfg     Config // with defaults; fixed after New
	pipe    pipe
	names   names
	keeper  keeper
	took    atomic.Int64 // ns that an attempt takes, smoothed
	counts  counters
	closing chan struct{} // closed by the first Close
	close   sync.Once
	running sync.WaitGroup // the keeper
}

// A pipe is what the engine asks of package pipeline.
type pipe interface {
	Do(context.Context, pipeline.Request) (pipeline.Outcome, error)
	Start(pipeline.Request, pipeline.Receiver) error
	Post(pipeline.Request)
	Await(ctx context.Context, name string, poll time.Duration) error
	Stats() pipeline.Stats
	Close()
}

// New checks cfg, asks all masters side by side and returns once each has answered
// or failed, within a second or two or when ctx ends; ctx is not used afterwards. It
// works while a minority of masters is away: they are probed in the background. Masters
// that were started just now are counted, although they do not vote yet (Config.Durable).
// Errors: ErrInvalid names the field that is wrong, a refused password or an address
// given twice included; ErrNoQuorum carries the errors of all masters that failed.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	cfg.Masters = slices.Clone(cfg.Masters)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := checkTemplate(cfg.Client); err != nil {
		return nil, err
	}
	masters, err := parseMasters(cfg.Masters, cfg.Client)
	if err != nil {
		return nil, err
	}
	pipe, err := pipeline.New(ctx, pipeline.Config{
		Masters: masters, Timeout: cfg.MasterTimeout, Queue: cfg.Queue,
		Wait: cfg.restartWait(), Durable: cfg.Durable, NewMasters: cfg.NewMasters, Changed: cfg.master,
	})
	if start := (*pipeline.StartError)(nil); errors.As(err, &start) && start.Misconfigured {
		return nil, fmt.Errorf("%w: Masters: %w", ErrInvalid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoQuorum, err)
	}
	cfg.logAssumed(masters)
	return newEngine(cfg, pipe), nil
}

func newEngine(cfg Config, pipe pipe) *Engine {
	e := &Engine{cfg: cfg, pipe: pipe, closing: make(chan struct{})}
	e.names.init()
	e.keeper.e, e.keeper.poke = e, make(chan struct{}, 1)
	e.running.Go(func() { e.keeper.run(e.closing) })
	return e
}

// Acquire takes the lock name for ttl (0 = Config.TTL; whole milliseconds) and waits
// for it until ctx ends or Config.MaxAttempts is used up. The returned lock has validity
// left. The goroutines of one engine that want one name queue, in order of arrival: one of
// them asks the masters, with a random delay before each further attempt, and a lock that
// is released is handed to the next one. A lock that was handed over may have as little as
// half of ttl left.
//
// ctx ends the wait and nothing else: an acquire that has been sent is followed by
// its release on every master. A ctx that has ended already sends nothing.
//
// Errors: ErrTaken or ErrNoQuorum of the last attempt, joined to ctx's error if that
// ended the wait; ErrInvalid; ErrOverloaded; ErrClosed. Use errors.As with
// *AttemptError for the votes. Follows the Redlock algorithm as redis.io gives it.
func (e *Engine) Acquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, e.cfg.MaxAttempts, e.cfg.WaitWhenFull)
}

// TryAcquire is Acquire with one attempt: it returns ErrTaken when somebody holds the
// lock, ErrNoQuorum or ErrExpired, within about twice Config.MasterTimeout. While somebody
// in this engine holds the lock or waits for it, it is ErrTaken without asking the masters.
func (e *Engine) TryAcquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	return e.acquire(ctx, name, ttl, 1, false)
}

// Do acquires the lock, keeps it alive while fn runs and releases it, also when fn panics.
// The ctx that fn gets ends when ctx does or when the lock is lost, with Err's error as its
// cause. Do returns fn's error, joined to ErrLost if the lock was lost on the way, and to
// Release's error if the release was not confirmed. The release does not depend on ctx.
func (e *Engine) Do(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) (err error) {
	lock, err := e.Acquire(ctx, name, ttl)
	if err != nil {
		return err
	}
	defer func() {
		lost := lock.Err()
		released := lock.Release(context.WithoutCancel(ctx))
		if lost != nil {
			released = nil // that it is gone was to be expected
		}
		err = errors.Join(err, lost, released)
	}()
	held, cancel := lock.Context(ctx)
	defer cancel()
	if err := lock.KeepAlive(0); err != nil {
		return nil // lost already; the deferred function says so
	}
	return fn(held)
}

// Close refuses new calls with ErrClosed, sends home those who wait, lets calls under way
// finish, at most about twice Config.MasterTimeout, and ends all connections and
// goroutines. Locks that are held are lost, for their holders, with ErrClosed as the cause;
// at the masters they are not released, since their holders may still be at work: their
// leases run out.
func (e *Engine) Close() error {
	e.close.Do(func() {
		close(e.closing)
		e.names.close()
	})
	e.running.Wait()
	e.pipe.Close()
	return nil
}

func (e *Engine) acquire(ctx context.Context, name string, ttl time.Duration, most int, waitWhenFull bool) (*Lock, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	ttl, err := e.cfg.lease(ttl)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	begin := clock.Now()
	c := contender{e: e, name: name, begin: begin, waitWhenFull: waitWhenFull}
	c.attempts = attempts{ttl: ttl, drift: e.cfg.Drift, most: most, held: e.cfg.RetryHeld, split: e.cfg.RetrySplit}
	p, w, err := e.names.join(e, name, ttl, most != 1, begin)
	if errors.Is(err, ErrTaken) {
		e.counts.taken.Add(1)
	}
	if w != nil {
		var got waiter
		e.counts.waiting.Add(1)
		got, err = p.wait(ctx, w)
		e.counts.waiting.Add(-1)
		if err != nil {
			err = errors.Join(errHere, err)
		}
		if err == nil && got.lock != nil {
			e.acquired(got.lock, begin, 0)
			return got.lock, nil
		}
		c.heir, c.late, c.begin = got.heir, got.late, clock.Now()
	}
	if err != nil {
		return nil, e.notAcquired(name, begin, 0, err)
	}
	c.place = p
	lock, err := c.contend(ctx)
	if err != nil {
		p.resign(c.late && c.made == 0)
		return nil, e.notAcquired(name, begin, c.made, err)
	}
	e.acquired(lock, begin, c.made)
	return lock, nil
}

// undo sends a release that nobody waits for.
func (e *Engine) undo(req pipeline.Request) {
	req.Op = pipeline.Release
	e.pipe.Post(req)
}

// refusal is the error for what the masters said of a lock that was held.
func (e *Engine) refusal(out pipeline.Outcome) error {
	if out.Verdict == quorum.Won {
		return nil
	}
	return newAttemptError(kindOf(out.Verdict, ErrNotHeld), false, len(e.cfg.Masters), out)
}
