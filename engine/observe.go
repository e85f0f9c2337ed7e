package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"muxlock/engine/internal/events"
	"muxlock/engine/internal/inside"
	"muxlock/internal/clock"
	"muxlock/pipeline"
)

// An Observer has functions for events of locks and masters. Fields may be nil. A goroutine of their own calls the
// functions one at a time, in the order of the events. No lock, call or master waits for it: the functions may be slow, and
// may call the engine.
//
// While they are slow, up to 4096 events wait for them. Then the oldest is dropped, counted in Stats.EventsDropped and
// logged. Of events of Lost and Master 4096 more wait; then a loss replaces the last loss, and a master's event its last
// one, which counts as dropped. Close waits for the remaining events for a second at most, also if one of the functions
// calls it.
//
// Beware of lock names as labels of metrics where there are many.
type Observer struct {
	// Acquired: a lock was given out after wait and so many attempts at the masters; 0: by a hand-over here.
	Acquired func(name string, wait time.Duration, attempts int)
	// NotAcquired: an acquire ended without a lock. There is no event for bad arguments.
	NotAcquired func(name string, wait time.Duration, attempts int, err error)
	// Released: Release was called after held, and returned err. handedOver: the lock went to the next in
	// this process, or stays with other readers here.
	Released func(name string, held time.Duration, handedOver bool, err error)
	// ReleaseTook: a Release that asked the masters, and so did not hand over, returned err after took.
	ReleaseTook func(name string, took time.Duration, err error)
	// Lost: a lock was lost after held, for the given cause. A renewal, an Extend or Release found that out,
	// or its validity ended, or Close ended it (ErrClosed).
	Lost func(name string, held time.Duration, cause error)
	// Renewed: a renewal in the background was confirmed, or failed with err. It is tried again until a loss.
	Renewed func(name string, err error)
	// Master: a master was set aside (up is false, and cause says why), is up again but must wait before it
	// votes (cause says for how long, and matches ErrRestarted), or votes (cause is nil). Of the masters that
	// New connects to, those that are away or must wait have events, maybe before New returns. address is as
	// in MasterError.
	Master func(address string, up bool, cause error)
}

// A record is what an engine notes of its locks and masters: it counts, it measures, and it queues events for the Observer
// and the Logger. Its zero value has neither of them.
type record struct {
	observer Observer
	logger   *slog.Logger
	queue    *events.Queue // nil: neither Observer nor Logger is set
	measure  *measures     // nil: Config.Measure is not set
	counts   counters
	losses   [mostLosses]atomic.Pointer[inside.Lost]
	lastLoss atomic.Uint64 // the index in losses follows from it

	releases, renewals, bare, mended, nested events.Warning
}

func newRecord(cfg *Config) *record {
	r := &record{logger: cfg.Logger}
	if cfg.Observer != nil {
		r.observer = *cfg.Observer
	}
	if cfg.Observer != nil || cfg.Logger != nil {
		r.releases = events.Warning{Text: "release not confirmed", Level: slog.LevelWarn}
		r.renewals = events.Warning{Text: "renewal failed", Level: slog.LevelWarn}
		r.bare = events.Warning{Text: "lock rests on a bare quorum: one more failure ends it", Level: slog.LevelWarn}
		r.mended = events.Warning{Text: "lock is on more than a quorum again"}
		r.nested = events.Warning{Text: "acquire waits for a lock that its own ctx holds", Level: slog.LevelWarn}
		r.queue = events.New(cfg.Logger, &r.releases, &r.renewals, &r.bare, &r.mended, &r.nested)
	}
	return r
}

// acquired is called with the shard's mutex held.
func (r *record) acquired(l *Lock, begin clock.Instant, attempts int) {
	count := kinds[l.lease.kind].count
	r.counts.acquired[count].Add(1)
	r.counts.held[count].Add(1)
	l.lease.state.warmLocked(l.since, l.since.Sub(begin))
	if r.measure != nil {
		r.measure.acquired(l, attempts)
	}
	if r.observer.Acquired != nil {
		name, wait := l.Name(), l.since.Sub(begin)
		r.queue.Add(func() { r.observer.Acquired(name, wait, attempts) })
	}
}

func (r *record) notAcquired(name string, begin clock.Instant, attempts int, err error) error {
	if r.observer.NotAcquired != nil {
		wait := clock.Now().Sub(begin)
		r.queue.Add(func() { r.observer.NotAcquired(name, wait, attempts, err) })
	}
	return err
}

func (r *record) released(l *Lock, at clock.Instant, handedOver, valid bool, err error) {
	r.counts.release(handedOver, err)
	if r.measure != nil {
		r.measure.released(l, at)
	}
	if l.since.IsZero() { // handed over by a waiter that had gone away
		return
	}
	unconfirmed := r.logger != nil && err != nil && valid && !errors.Is(err, ErrClosed)
	took := r.observer.ReleaseTook != nil && !handedOver
	if r.observer.Released == nil && !took && !unconfirmed {
		return
	}
	name, held, asked := l.Name(), at.Sub(l.since), time.Duration(0)
	if took {
		asked = clock.Now().Sub(at)
	}
	r.queue.Add(func() {
		if r.observer.Released != nil {
			r.observer.Released(name, held, handedOver, err)
		}
		if took {
			r.observer.ReleaseTook(name, asked, err)
		}
		if unconfirmed {
			r.queue.Warn(&r.releases, name, err)
		}
	})
}

// lost may be called with the shard's mutex held, and once for a lock.
func (r *record) lost(l *Lock, cause error) {
	if l.since.IsZero() { // its caller does not have it yet
		return
	}
	r.counts.lost[kinds[l.lease.kind].count][lossCause(cause)].Add(1)
	name, held := l.Name(), clock.Now().Sub(l.since)
	r.losses[r.lastLoss.Add(1)%mostLosses].Store(&inside.Lost{Name: inside.Shown(name), Kind: kinds[l.lease.kind].name, At: time.Now(), Held: held, Cause: cause.Error()})
	if r.observer.Lost == nil && r.logger == nil {
		return
	}
	r.queue.Require("", func() {
		if r.observer.Lost != nil {
			r.observer.Lost(name, held, cause)
		}
		if r.logger != nil {
			r.logger.Warn("lock lost", slog.String("lock", name), slog.Duration("held", held), slog.Any("cause", cause))
		}
	})
}

func (r *record) renewed(name string, err error) {
	switch {
	case err == nil:
		r.counts.renewed.Add(1)
	case !errors.Is(err, ErrNotHeld): // else it is a loss, and counted there
		r.counts.renewalsFailed.Add(1)
	}
	if r.observer.Renewed == nil && (r.logger == nil || err == nil) {
		return
	}
	r.queue.Add(func() {
		if r.observer.Renewed != nil {
			r.observer.Renewed(name, err)
		}
		if r.logger != nil && err != nil {
			r.queue.Warn(&r.renewals, name, err)
		}
	})
}

// rests notes that a kept lock has come to rest on a bare quorum, or that it no longer does.
func (r *record) rests(l *lease, bare bool, masters int) {
	if r.logger == nil {
		return
	}
	name, of := l.e.cfg.nameOf(l.name), fmt.Errorf("%d of %d masters have it", masters, l.e.masters.number)
	w := &r.mended
	if bare {
		w = &r.bare
	}
	r.queue.Add(func() { r.queue.Warn(w, name, of) })
}

// nests notes an acquire that waits for itself.
func (r *record) nests(name string) {
	if r.logger != nil {
		r.queue.Add(func() { r.queue.Warn(&r.nested, name, errNested) })
	}
}

// assumed logs what all processes that share locks must assume alike. Nothing else would show that two of
// them do not.
func (r *record) assumed(c *Config, masters []pipeline.Master) {
	addresses := make([]string, len(masters))
	for i, m := range masters {
		addresses[i] = m.Address
	}
	slices.Sort(addresses)
	r.queue.Log(slog.LevelInfo, false, "locks assume", slog.Int("masters", len(addresses)), slog.Any("addresses", addresses),
		slog.Duration("MaxTTL", c.MaxTTL), slog.Duration("restart_wait", c.restartWait()), slog.Bool("durable", c.MastersAreDurable), slog.Bool("fencing", c.Fencing))
}

// master is the pipeline's Config.Changed.
func (r *record) master(address string, up bool, cause error) {
	if r.observer.Master == nil && r.logger == nil {
		return
	}
	if errors.Is(cause, pipeline.ErrReconnected) { // nothing changed
		r.queue.Log(slog.LevelDebug, false, "master connected again", slog.String("master", address), slog.Any("cause", cause))
		return
	}
	r.queue.Require(address, func() {
		if r.observer.Master != nil {
			r.observer.Master(address, up, cause)
		}
		if r.logger == nil {
			return
		}
		attributes := []any{slog.String("master", address)}
		if cause != nil {
			attributes = append(attributes, slog.Any("cause", cause))
		}
		switch {
		case !up:
			r.logger.Warn("master set aside", attributes...)
		case errors.Is(cause, ErrConfigMismatch), errors.Is(cause, pipeline.ErrMembersLost): // no time ends that
			r.logger.Error("master does not vote until somebody acts", attributes...)
		case cause != nil:
			r.logger.Info("master does not vote yet", attributes...)
		default:
			r.logger.Info("master votes", attributes...)
		}
	})
}
