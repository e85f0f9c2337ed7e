package bench

import (
	"context"
	"time"

	"muxlock/internal/clock"
)

// Kept has the figures of the locks of Config.Kept.
type Kept struct {
	Held    int64 `json:"held"`         // acquired and kept alive
	Lost    int64 `json:"lost"`         // of these, lost before the run ended
	Stopped int64 `json:"lost_stopped"` // of these, while their process stood still for half of the TTL or longer
}

// A keeper keeps the lock of one name of Config.Kept alive until the run ends. If it loses the lock, it acquires it again. So
// the keepers of all other processes wait for it. One goroutine owns it until it returns.
type keeper struct {
	r      *runner
	key    int // behind the names of workers
	number int // for the audit, behind the workers of all processes
	Kept
}

func newKeeper(r *runner, i int) *keeper {
	c := &r.cfg
	return &keeper{r: r, key: c.keys() + i, number: c.Workers*c.procs() + c.proc*c.Kept + i}
}

func (k *keeper) run() {
	r := k.r
	defer r.caught()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	go func() { // no drain: it would wait for another keeper
		select {
		case <-r.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	alarm := clock.NewAlarm()
	for !k.over() {
		begin := r.now()
		held, err := r.locker.Acquire(ctx, r.names[k.key], r.cfg.TTL)
		if err != nil {
			r.alarms.Sleep(errorPause, alarm, r.ended)
			continue
		}
		if !k.over() {
			k.keep(held, begin)
		}
		_ = held.Release(r.relCtx)
	}
}

// over tells whether the run is over, also when only another process has noticed that: it releases its kept locks then.
func (k *keeper) over() bool {
	c := &k.r.cfg
	return k.r.phase.Load() >= draining || k.r.now() >= int64(c.Warmup+c.Duration)
}

// keep keeps a lock alive until it is lost or the run is over.
func (k *keeper) keep(held Held, begin int64) {
	r := k.r
	l, ok := held.(Keeper)
	if !ok {
		r.fail(wrong("Kept", "", "locks of %s cannot be kept alive", r.impl))
		return
	}
	if l.KeepAlive(r.cfg.Warmup+r.cfg.Duration+releaseGrace) != nil {
		return
	}
	k.Held++
	now, fence := r.now(), fenceOf(held)
	until := func() int64 { return untilNs(r.base, held.Until()) }
	stamp := r.audit.enter(k.key, k.number, now, until(), fence, r.now)
	k.note(Event{Kind: EventAcquired, FromNs: begin, ToNs: now, UntilNs: until(), Fence: fence})
	stopped := now - int64(r.cfg.TTL)
	for over := false; !over; {
		before := now
		select {
		case <-time.After(r.cfg.TTL / 8):
		case <-l.Done():
			over = true
		case <-r.ended:
			over = true
		}
		if now = r.now(); now-before > int64(r.cfg.TTL/2) {
			stopped = now
		}
		if !over {
			stamp = r.audit.renew(k.key, k.number, stamp, now, until(), r.now)
		}
	}
	r.audit.leave(k.key, stamp, now)
	k.note(Event{Kind: EventReleased, FromNs: now, ToNs: now})
	select {
	case <-l.Done():
		k.Lost++
		if now-stopped < int64(r.cfg.TTL) {
			k.Stopped++
		}
	default:
	}
}

// note adds an event to the history, if there is one.
func (k *keeper) note(e Event) {
	if e.Worker = k.number; k.r.history != nil {
		k.r.history.add(k.key, e)
	}
}
