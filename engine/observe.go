package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"muxlock/internal/clock"
	"muxlock/pipeline"
)

// An Observer has functions for events of locks and masters. Fields may be nil. A goroutine of their own
// calls the functions one at a time, in the order of the events. No lock, call or master waits for it: the
// functions may be slow, and may call the engine.
//
// While they are slow, up to 4096 events wait for them. Then the oldest is dropped, counted in
// Stats.EventsDropped and logged. Events of Lost and Master are kept longer: 4096 more of them wait. Then a
// loss replaces the last loss, and a master's event the last event of that master. The replaced ones count as
// dropped. Close waits for the remaining events for a second at most, also if one of the functions calls it.
//
// Beware of lock names as labels of metrics where there are many. Some facts have no event and are in Stats:
// queue depth, rounds and their sizes, pending releases.
type Observer struct {
	// Acquired: a lock was given out after wait and so many attempts at the masters; 0: by a hand-over here.
	Acquired func(name string, wait time.Duration, attempts int)
	// NotAcquired: an acquire ended without a lock. There is no event for bad arguments.
	NotAcquired func(name string, wait time.Duration, attempts int, err error)
	// Released: Release was called after held, and returned err. handedOver: the lock went to the next in
	// this process, or stays with other readers here.
	Released func(name string, held time.Duration, handedOver bool, err error)
	// ReleaseTook: a Release that asked the masters, and so handed nothing over, returned err after took.
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

// acquired is called with the shard's mutex held.
func (e *Engine) acquired(l *Lock, begin clock.Instant, attempts int) {
	count := kinds[l.lease.kind].count
	e.counts.acquired[count].Add(1)
	e.counts.held[count].Add(1)
	if e.measure != nil {
		e.measure.acquired(l, attempts)
	}
	if q := e.events; q != nil && q.observer.Acquired != nil {
		name, wait := l.Name(), l.since.Sub(begin)
		q.add(false, func() { q.observer.Acquired(name, wait, attempts) })
	}
}

func (e *Engine) notAcquired(name string, begin clock.Instant, attempts int, err error) error {
	if q := e.events; q != nil && q.observer.NotAcquired != nil {
		wait := clock.Now().Sub(begin)
		q.add(false, func() { q.observer.NotAcquired(name, wait, attempts, err) })
	}
	return err
}

func (e *Engine) released(l *Lock, at clock.Instant, handedOver, valid bool, err error) {
	e.counts.release(handedOver, err)
	if e.measure != nil {
		e.measure.released(l, at)
	}
	q := e.events
	if q == nil || l.since.IsZero() { // handed over by a waiter that had left
		return
	}
	unconfirmed := q.logger != nil && err != nil && valid && !errors.Is(err, ErrClosed)
	took := q.observer.ReleaseTook != nil && !handedOver
	if q.observer.Released == nil && !took && !unconfirmed {
		return
	}
	name, held, asked := l.Name(), at.Sub(l.since), time.Duration(0)
	if took {
		asked = clock.Now().Sub(at)
	}
	q.add(false, func() {
		if q.observer.Released != nil {
			q.observer.Released(name, held, handedOver, err)
		}
		if took {
			q.observer.ReleaseTook(name, asked, err)
		}
		if unconfirmed {
			q.warn(&q.releases, name, err)
		}
	})
}

// lost may be called with the shard's mutex held, and once for a lock.
func (e *Engine) lost(l *Lock, cause error) {
	if l.since.IsZero() { // its caller does not have it yet
		return
	}
	if !errors.Is(cause, ErrClosed) {
		e.counts.lost.Add(1)
	}
	q := e.events
	if q == nil || q.observer.Lost == nil && q.logger == nil {
		return
	}
	name, held := l.Name(), clock.Now().Sub(l.since)
	q.add(true, func() {
		if q.observer.Lost != nil {
			q.observer.Lost(name, held, cause)
		}
		if q.logger != nil {
			q.logger.Warn("lock lost", slog.String("lock", name), slog.Duration("held", held), slog.Any("cause", cause))
		}
	})
}

func (e *Engine) renewed(name string, err error) {
	switch {
	case err == nil:
		e.counts.renewed.Add(1)
	case !errors.Is(err, ErrNotHeld): // else it is a loss, and counted there
		e.counts.renewalsFailed.Add(1)
	}
	q := e.events
	if q == nil || q.observer.Renewed == nil && (q.logger == nil || err == nil) {
		return
	}
	q.add(false, func() {
		if q.observer.Renewed != nil {
			q.observer.Renewed(name, err)
		}
		if q.logger != nil && err != nil {
			q.warn(&q.renewals, name, err)
		}
	})
}

// rests notes that a kept lock has come to rest on a bare quorum, or that it no longer does.
func (q *events) rests(l *lease, bare bool, masters int) {
	if q == nil || q.logger == nil {
		return
	}
	name, of := l.e.cfg.nameOf(l.name), fmt.Errorf("%d of %d masters have it", masters, len(l.e.cfg.Masters))
	w := &q.mended
	if bare {
		w = &q.bare
	}
	q.add(false, func() { q.warn(w, name, of) })
}

// assumed logs what all processes that share locks must assume alike. Nothing else would show that two of
// them do not.
func (q *events) assumed(c *Config, masters []pipeline.Master) {
	if q == nil || q.logger == nil {
		return
	}
	addresses := make([]string, len(masters))
	for i, m := range masters {
		addresses[i] = m.Address
	}
	slices.Sort(addresses)
	maxTTL, wait, durable, fencing := c.MaxTTL, c.restartWait(), c.MastersAreDurable, c.Fencing
	q.add(false, func() {
		q.logger.Info("locks assume", slog.Int("masters", len(addresses)), slog.Any("addresses", addresses),
			slog.Duration("MaxTTL", maxTTL), slog.Duration("restart_wait", wait), slog.Bool("durable", durable), slog.Bool("fencing", fencing))
	})
}

// master is the pipeline's Config.Changed.
func (q *events) master(address string, up bool, cause error) {
	if q == nil || q.observer.Master == nil && q.logger == nil {
		return
	}
	if errors.Is(cause, pipeline.ErrReconnected) { // nothing changed
		q.log(slog.LevelDebug, false, "master connected again", slog.String("master", address), slog.Any("cause", cause))
		return
	}
	q.put(true, event{master: address, deliver: func() {
		if q.observer.Master != nil {
			q.observer.Master(address, up, cause)
		}
		if q.logger == nil {
			return
		}
		attributes := []any{slog.String("master", address)}
		if cause != nil {
			attributes = append(attributes, slog.Any("cause", cause))
		}
		switch {
		case !up:
			q.logger.Warn("master set aside", attributes...)
		case errors.Is(cause, ErrConfigMismatch), errors.Is(cause, pipeline.ErrMembersLost): // no time ends that
			q.logger.Error("master does not vote until somebody acts", attributes...)
		case cause != nil:
			q.logger.Info("master does not vote yet", attributes...)
		default:
			q.logger.Info("master votes", attributes...)
		}
	}})
}
