package rivals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"muxlock/bench"
	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/redlock"
)

// muxlock is this project's engine with its defaults: an Acquire tries again until
// ctx ends, after 12 to 37 ms when somebody holds the lock, sooner after a split vote.
type muxlock struct{ engine *engine.Engine }

func openMuxlock(ctx context.Context, o Options) (bench.Locker, error) {
	e, err := engine.New(ctx, o.engine())
	if err != nil {
		return nil, err
	}
	now, cancel := context.WithTimeout(ctx, 0) // a load on masters that do not vote measures nothing
	defer cancel()
	var missing *engine.NotReadyError
	if errors.As(e.Ready(now), &missing) {
		_ = e.Close()
		return nil, fmt.Errorf("%w (--new-masters, if they have never granted a lock)", missing)
	}
	return muxlock{e}, nil
}

// Validate returns what the engine would find wrong with the options.
func (o Options) Validate() error { return o.engine().Validate() }

func (o Options) engine() engine.Config {
	return engine.Config{
		Masters: o.Masters, TTL: o.TTL, MaxTTL: o.MaxTTL, MasterTimeout: o.MasterTimeout, MastersAreNew: o.NewMasters && !o.Fencing,
		RetryHeld: o.RetryHeld, RetrySplit: o.RetrySplit, Fencing: o.Fencing,
	}
}

// SetUp makes masters that were started for this run a set, which fencing needs. They may
// have been another one in an earlier round, or lost what they had: no name outlives a
// round, so that there is nothing to wait for, nor a fence to be above. A machine that is
// kept busy by other things may take several tries.
func SetUp(ctx context.Context, o Options) (err error) {
	// As long as a lease of that length, which is not asked for, could do with: embedded masters take 0.1 s.
	longest := (o.TTL - redlock.DriftAllowance(o.TTL, redlock.DefaultDrift)) * 3 / 4
	o.Fencing, o.MasterTimeout = false, max(o.MasterTimeout, min(longest, 5*time.Second))
	for range 10 {
		err = admin.SetUp(ctx, o.engine(), admin.SetUpOptions{MastersAreNew: true, Recover: true})
		if err == nil {
			break
		}
	}
	return err
}

// One of several masters is not what was set up, so these locks have no fencing tokens.
func openMuxlockSingle(ctx context.Context, o Options) (bench.Locker, error) {
	o.Masters, o.Fencing = o.Masters[:1], false
	return openMuxlock(ctx, o)
}

func (l muxlock) Acquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	lock, err := l.engine.Acquire(ctx, name, ttl)
	return muxlockHeld(ctx, lock, err)
}

func (l muxlock) TryAcquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	lock, err := l.engine.TryAcquire(ctx, name, ttl)
	return muxlockHeld(ctx, lock, err)
}

func (l muxlock) Close() error { return l.engine.Close() }

// Counts is the batches sent to the masters, the requests in them, and attempts that went badly.
func (l muxlock) Counts() bench.Counts {
	s := l.engine.Stats()
	return bench.Counts{Rounds: s.Rounds, Commands: s.Requests, LateQuorum: s.Expired, FenceSecondTrips: s.FencesRaised}
}

// Allowance is what the engine gives up of a lease.
func (l muxlock) Allowance(ttl time.Duration) time.Duration {
	return redlock.DriftAllowance(ttl, redlock.DefaultDrift)
}

// muxlockHeld: a *engine.Lock is a bench.Held as it is.
func muxlockHeld(ctx context.Context, lock *engine.Lock, err error) (bench.Held, error) {
	if err == nil {
		return lock, nil
	}
	if errors.Is(err, engine.ErrTaken) && ctx.Err() == nil {
		return nil, bench.ErrRefused
	}
	return nil, err
}
