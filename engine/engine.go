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
	"muxlock/pipeline"
)

// Engine holds the connections to a set of masters and acquires locks on them. It is safe for concurrent use; one per
// process and set of masters is enough for any number of goroutines and names.
type Engine struct {
	cfg     Config // with defaults; fixed after New
	masters masters
	names   nameTable
	keeper  keeper
	record  *record
	closing chan struct{} // closed by the first Close
	close   sync.Once
	running sync.WaitGroup // the keeper and the watch of measures
	began   clock.Instant  // fixed
	spotted atomic.Int64   // when strangers were last spotted; ns since began
}

// New checks cfg and asks all masters side by side. It returns once each has answered or failed, within a second or two, or
// when ctx ends; ctx is not used afterwards. New works while a minority is away: it is probed in the background. Masters
// that were started just now count, although they do not vote yet (Ready).
//
// A master is ruled out, also by a running engine, if waiting does not help: its server says why it will not do (a wrong
// password, a missing right or command, cluster mode, a Sentinel, protected mode, no run_id), or TLS does not accept a
// certificate. It is tried again, like one that is away.
//
// Errors: ErrInvalid for a wrong field, a missing database, one server under two addresses, or if masters that are ruled
// out leave no quorum; ErrConfigMismatch; ErrNoQuorum otherwise. A StartError has each failed master's error: the server's
// words, and what to do.
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
	e := &Engine{cfg: cfg, record: record, closing: make(chan struct{}), began: clock.Now()}
	e.masters.init(pipe, &cfg)
	e.names.init()
	e.keeper.init(e)
	e.running.Go(func() { e.keeper.run(e.closing) })
	if cfg.Measure {
		e.record.measure = newMeasures()
		e.running.Go(func() { e.record.measure.watch(e.closing) })
	}
	return e
}

// Ready returns nil once a quorum of masters votes: they can be reached, and their start is long enough ago, half a minute
// by default (Config.MastersAreDurable). It blocks until then or until ctx ends; with a ctx that has ended it returns the
// present state. Calling it is optional: Acquire waits likewise.
//
// Errors: ErrNoQuorum, joined to ctx's error; at once with ErrConfigMismatch, or in package groups that alone; ErrClosed.
// ErrNoQuorum comes with a NotReadyError: each missing master's reason, and the time left if known.
func (e *Engine) Ready(ctx context.Context) error {
	err := e.masters.pipe.Ready(ctx)
	if errors.Is(err, ErrClosed) || !errors.As(err, new(*NotReadyError)) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNoQuorum, err)
}

// Close refuses new calls and ends waiting calls with ErrClosed. Calls under way finish, and locks that they are granted
// are released, for at most about twice Config.MasterTimeout each. Then it ends all connections and goroutines. Observer
// and Logger get the events until then, for at most a second. Holders lose their locks, with ErrClosed as the cause. The
// masters keep these locks until the leases run out, since their holders may still be at work.
func (e *Engine) Close() error {
	e.close.Do(func() {
		close(e.closing)
		e.names.close()
		e.masters.pipe.Refuse()
	})
	select {
	case <-e.names.drained:
	case <-time.After(2 * e.cfg.MasterTimeout):
	}
	e.running.Wait()
	e.masters.pipe.Close()
	e.record.queue.Close()
	return nil
}
