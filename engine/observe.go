package engine

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"muxlock/internal/clock"
	"muxlock/pipeline"
)

// An Observer is told what happens to locks and masters. Fields may be nil. The functions
// are called by the goroutines that acquire and release, Lost, Renewed and Master by others,
// concurrently; they should be quick and must not block, nor call Close. Names are the
// user's: beware of using them as labels of metrics where there are many. What has no event
// is in Stats: queue depth, rounds and their sizes, what masters are owed.
type Observer struct {
	// Acquired: a lock was given out after wait, with so many attempts at the masters; 0:
	// it was handed over within the process.
	Acquired func(name string, wait time.Duration, attempts int)
	// NotAcquired: an acquire ended without one. Bad arguments are not told.
	NotAcquired func(name string, wait time.Duration, attempts int, err error)
	// Released: Release was called after held; err is what it returned. handedOver: the
	// lock went to the next in this process.
	Released func(name string, held time.Duration, handedOver bool, err error)
	// Lost: a lock was lost after held, for the given cause.
	Lost func(name string, held time.Duration, cause error)
	// Renewed: a renewal in the background was confirmed, or failed with err and will be
	// tried again unless the lock is lost.
	Renewed func(name string, err error)
	// Master: a master was set aside (up is false, and cause says why), or was admitted
	// again; cause is non-nil then if it must wait before it votes (ErrRestarted), and the
	// end of the wait is not told. Of the masters that New meets, those that are away or
	// must wait are told, maybe before New returns. Each master's changes come in order,
	// from its own goroutine, whose calls wait meanwhile. address is as in MasterError.
	Master func(address string, up bool, cause error)
}

func (e *Engine) acquired(l *Lock, begin clock.Instant, attempts int) {
	e.counts.acquired.Add(1)
	if o := e.cfg.Observer; o != nil && o.Acquired != nil {
		o.Acquired(l.Name(), l.since.Sub(begin), attempts)
	}
}

func (e *Engine) notAcquired(name string, begin clock.Instant, attempts int, err error) error {
	if o := e.cfg.Observer; o != nil && o.NotAcquired != nil {
		o.NotAcquired(name, clock.Now().Sub(begin), attempts, err)
	}
	return err
}

func (e *Engine) released(l *Lock, at clock.Instant, over, held bool, err error) {
	e.counts.release(over, err)
	if o := e.cfg.Observer; o != nil && o.Released != nil {
		o.Released(l.Name(), at.Sub(l.since), !over, err)
	}
	if e.cfg.Logger != nil && err != nil && held && !errors.Is(err, ErrClosed) {
		e.cfg.Logger.Warn("release not confirmed", slog.String("lock", l.Name()), slog.Any("error", err))
	}
}

// lost is called with the shard's mutex held.
func (e *Engine) lost(l *Lock, cause error) {
	e.counts.lost.Add(1)
	if e.cfg.Observer == nil && e.cfg.Logger == nil {
		return
	}
	held := clock.Now().Sub(l.since)
	go func() { // losses are rare, and the user's code must not run under our mutex
		if o := e.cfg.Observer; o != nil && o.Lost != nil {
			o.Lost(l.Name(), held, cause)
		}
		if e.cfg.Logger != nil {
			e.cfg.Logger.Warn("lock lost", slog.String("lock", l.Name()), slog.Duration("held", held), slog.Any("cause", cause))
		}
	}()
}

func (e *Engine) renewed(name string, err error) {
	switch {
	case err == nil:
		e.counts.renewed.Add(1)
	case !errors.Is(err, ErrNotHeld): // else it is a loss, and counted there
		e.counts.unrenewed.Add(1)
	}
	if o := e.cfg.Observer; o != nil && o.Renewed != nil {
		o.Renewed(name, err)
	}
	if e.cfg.Logger != nil && err != nil {
		e.cfg.Logger.Warn("renewal failed", slog.String("lock", name), slog.Any("error", err))
	}
}

// logAssumed says what all processes that share locks must assume alike: nothing else would
// show that two do not.
func (c *Config) logAssumed(masters []pipeline.Master) {
	if c.Logger == nil {
		return
	}
	addresses := make([]string, len(masters))
	for i, m := range masters {
		addresses[i] = m.Address
	}
	slices.Sort(addresses)
	c.Logger.Info("locks assume", slog.Int("masters", len(masters)), slog.Any("addresses", addresses),
		slog.Duration("MaxTTL", c.MaxTTL), slog.Duration("restart_wait", c.restartWait()), slog.Bool("durable", c.Durable))
}

// master is the pipeline's Config.Changed.
func (c *Config) master(address string, up bool, cause error) {
	if o := c.Observer; o != nil && o.Master != nil {
		o.Master(address, up, cause)
	}
	if c.Logger == nil {
		return
	}
	attributes := []any{slog.String("master", address)}
	if cause != nil {
		attributes = append(attributes, slog.Any("cause", cause))
	}
	if up {
		c.Logger.Info("master is back", attributes...)
	} else {
		c.Logger.Warn("master set aside", attributes...)
	}
}
