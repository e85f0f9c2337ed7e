package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/engine/groups"
	"muxlock/internal/oneline"
)

// A kind says how names are held.
type kind struct {
	shared  bool // as one of the readers of a name
	permits int  // as one of so many holders of a name; 0: no
}

// held is an acquired lock and its engine.
type held struct {
	kind
	names []string
	locks *engine.Engine
	close func() error // of locks
	lock  interface {  // *engine.Lock, or *engine.Set of several names
		Err() error
		Valid() bool
		Until() time.Time
		HeldOn() (masters, total int)
		Done() <-chan struct{}
		KeepAlive(max time.Duration) error
		WarnBefore(left time.Duration, fn func()) error
		Release(context.Context) error
	}
}

// fences returns the fencing token of each name.
func (h *held) fences() string {
	if lock, one := h.lock.(*engine.Lock); one {
		return strconv.FormatUint(lock.Fence(), 10)
	}
	var fences []string
	for _, l := range h.lock.(*engine.Set).Locks() {
		fences = append(fences, strconv.FormatUint(l.Fence(), 10))
	}
	return strings.Join(fences, " ")
}

// quoted returns names as messages show them.
func quoted(names []string) string {
	var all []string
	for _, name := range names {
		all = append(all, strconv.Quote(name))
	}
	return strings.Join(all, ", ")
}

// acquire waits for the masters and the lock until ctx ends. With try it waits for neither.
func acquire(ctx context.Context, cfg groups.Config, names []string, k kind, try bool, log io.Writer) (*held, error) {
	locks, err := open(ctx, cfg, names, try, log)
	if err != nil {
		return nil, err
	}
	h := &held{kind: k, names: names, locks: locks, close: locks.Close}
	if try {
		err = h.tryAcquire(ctx, cfg)
	} else {
		now, cancel := context.WithCancel(ctx)
		cancel()
		if err := locks.Ready(now); err != nil {
			if missing := missingAmong(err, mastersOf(ctx, cfg, locks, names)); missing != nil {
				say(log, "waiting for the masters: %s", missing)
			}
		}
		err = h.got(ctx, false)
	}
	if isTaken(err) && errors.Is(err, context.DeadlineExceeded) && k.permits == 0 { // a permit has many holders
		ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // masters may hang by now
		err, _ = h.takenBy(ask, err, cfg)
		cancel()
		err = oneline.Join(err, ctx.Err())
	}
	if err != nil {
		locks.Close()
		return nil, err
	}
	if cfg.Fencing {
		sayWhoDoesNotVote(ctx, cfg, locks, names, log)
	}
	return h, nil
}

// got acquires one name or all of several.
func (h *held) got(ctx context.Context, try bool) (err error) {
	switch l, name := h.locks, h.names[0]; {
	case h.permits > 0 && try:
		h.lock, err = l.TryAcquirePermit(ctx, name, h.permits, 0)
	case h.permits > 0:
		h.lock, err = l.AcquirePermit(ctx, name, h.permits, 0)
	case len(h.names) > 1 && try:
		h.lock, err = l.TryAcquireAll(ctx, h.names, 0)
	case len(h.names) > 1:
		h.lock, err = l.AcquireAll(ctx, h.names, 0)
	case h.shared && try:
		h.lock, err = l.TryAcquireShared(ctx, name, 0)
	case h.shared:
		h.lock, err = l.AcquireShared(ctx, name, 0)
	case try:
		h.lock, err = l.TryAcquire(ctx, name, 0)
	default:
		h.lock, err = l.Acquire(ctx, name, 0)
	}
	return err
}

// open connects to the masters; it tries again until ctx ends. With try it connects once.
func open(ctx context.Context, cfg groups.Config, names []string, try bool, log io.Writer) (*engine.Engine, error) {
	var last error
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		locks, err := connect(ctx, cfg, names...)
		switch {
		case err == nil:
			return locks, nil
		case try || !errors.Is(err, engine.ErrNoQuorum) || errors.Is(err, engine.ErrInvalid) || errors.Is(err, admin.ErrNotALock): // each may be of another group
			return nil, err
		case last == nil && ctx.Err() == nil:
			say(log, "waiting for the masters: %s", asFlags(err.Error()))
		}
		if last == nil || ctx.Err() == nil { // an error cut short by ctx says less than the one before
			last = err
		}
		select {
		case <-ctx.Done():
			return nil, oneline.Join(last, ctx.Err())
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// mastersOf returns the addresses of the masters that the names are on; nil: all, since there is one group.
func mastersOf(ctx context.Context, cfg groups.Config, locks *engine.Engine, names []string) (of []string) {
	if len(cfg.Groups) == 0 {
		return nil
	}
	for _, name := range names {
		i, _ := admin.Inspect(ctx, locks, name) // it has the addresses of masters that do not answer, too
		for _, m := range i.Masters {
			of = append(of, m.Address)
		}
	}
	return of
}

// missingAmong returns the part of an error of Ready that is about masters among of; nil: there is none.
func missingAmong(err error, of []string) (missing *engine.NotReadyError) {
	switch e := err.(type) {
	case *engine.NotReadyError:
		if of == nil || slices.ContainsFunc(e.Causes, func(c engine.MasterError) bool { return slices.Contains(of, c.Master) }) {
			return e
		}
	case interface{ Unwrap() error }:
		return missingAmong(e.Unwrap(), of)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			missing = cmp.Or(missing, missingAmong(err, of))
		}
	}
	return missing
}

// sayWhoDoesNotVote names the members of the set that did not vote for the acquired lock, and says what to do. A member
// that lost its data votes again only once a client acquires a lock after its wait.
func sayWhoDoesNotVote(ctx context.Context, cfg groups.Config, locks *engine.Engine, names []string, log io.Writer) {
	away := slices.DeleteFunc(locks.Stats().Masters, func(m engine.MasterStats) bool { return m.Cause == nil })
	if len(away) == 0 {
		return
	}
	of := mastersOf(ctx, cfg, locks, names)
	var missing []string
	do := "see muxlock masters status"
	for _, m := range away {
		if of != nil && !slices.Contains(of, m.Address) {
			continue
		}
		missing = append(missing, engine.MasterError{Master: m.Address, Err: m.Cause}.Error())
		if errors.Is(m.Cause, engine.ErrRestarted) && !errors.Is(m.Cause, admin.ErrMembersLost) {
			do = "later runs admit it then, and so does muxlock masters repair"
		}
	}
	if missing != nil {
		say(log, "locked without %s; %s", strings.Join(missing, "; "), do)
	}
}

// tryAcquire tries again while nobody has the lock: contenders that came at the same moment, as cron has several
// machines do, split the votes. It asks the masters twenty times at most.
func (h *held) tryAcquire(ctx context.Context, cfg groups.Config) (err error) {
	pause, taken := time.Millisecond, false
	for range 20 {
		if err = h.got(ctx, true); !errors.Is(err, engine.ErrTaken) {
			break
		}
		if err, taken = h.takenBy(ctx, err, cfg); taken {
			break
		}
		select {
		case <-ctx.Done():
			return oneline.Join(err, ctx.Err())
		case <-time.After(rand.N(pause)):
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
	return err
}

// takenBy asks the masters who holds the first name that is held, and adds that to err, an ErrTaken, if it is somebody
// else. It returns an ErrNotALock instead if the name is the key of something else. taken is also true if the masters could
// not be asked. For readers, a writer that waits is in the way. Of permits, all must be held.
func (h *held) takenBy(ctx context.Context, err error, cfg groups.Config) (_ error, taken bool) {
	if h.permits > 0 {
		found, unknown := lookAt(ctx, h.locks, slotsOf(h.names[0], h.permits))
		return err, len(unknown) > 0 || heldOf(found) == h.permits
	}
	for _, name := range h.names {
		i, unknown := admin.Inspect(ctx, h.locks, name)
		switch {
		case errors.Is(unknown, admin.ErrNotALock):
			return fmt.Errorf("%q: %w", name, unknown), true
		case !i.Held && unknown == nil:
			continue
		case i.Holder == "" || i.Holder == cfg.Holder || h.shared && i.Readers > 0: // our own key may be of an attempt that is being undone
		case len(h.names) > 1:
			err = fmt.Errorf("%q: %w by %s", name, engine.ErrTaken, i.Holder)
		default:
			err = fmt.Errorf("%w by %s", engine.ErrTaken, i.Holder)
		}
		return err, true
	}
	return err, false
}

// isTaken reports whether a lock was not acquired because others hold it, and for no other reason.
func isTaken(err error) bool {
	return errors.Is(err, engine.ErrTaken) && !errors.Is(err, engine.ErrNoQuorum)
}

// end releases the lock. It returns an error if the lock was lost before.
func (h *held) end(log io.Writer) (lost error) {
	err := cmp.Or(h.lock.Err(), h.release())
	switch {
	case errors.Is(err, engine.ErrLost), errors.Is(err, engine.ErrNotHeld):
		return err
	case err != nil: // the lease runs out by itself
		say(log, "%s may be held for the rest of its lease: %s", quoted(h.names), err)
	}
	return nil
}

// release releases the lock, unless it was lost, and closes the engine.
func (h *held) release() error {
	defer h.close()
	return h.lock.Release(context.Background())
}
