package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/oneline"
)

// held is an acquired lock and its engine.
type held struct {
	locks *engine.Engine
	lock  *engine.Lock
}

// acquire waits for the masters and the lock until ctx ends. With try it waits for neither.
func acquire(ctx context.Context, cfg engine.Config, name string, try bool, log io.Writer) (*held, error) {
	locks, err := open(ctx, cfg, try, log)
	if err != nil {
		return nil, err
	}
	var lock *engine.Lock
	if try {
		lock, err = tryAcquire(ctx, locks, cfg, name)
	} else {
		now, cancel := context.WithCancel(ctx)
		cancel()
		if missing := (*engine.NotReadyError)(nil); errors.As(locks.Ready(now), &missing) {
			say(log, "waiting for the masters: %s", missing)
		}
		lock, err = locks.Acquire(ctx, name, 0)
	}
	if err != nil {
		locks.Close()
		return nil, err
	}
	if cfg.Fencing {
		sayWhoDoesNotVote(locks, log)
	}
	return &held{locks, lock}, nil
}

// open connects to the masters; it tries again until ctx ends. With try it connects once.
func open(ctx context.Context, cfg engine.Config, try bool, log io.Writer) (*engine.Engine, error) {
	var last error
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		locks, err := engine.New(ctx, cfg)
		switch {
		case err == nil:
			return locks, nil
		case try || !errors.Is(err, engine.ErrNoQuorum):
			return nil, err
		case last == nil:
			say(log, "waiting for the masters: %s", err)
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

// sayWhoDoesNotVote names the members of the set that did not vote for the acquired lock, and says what to do. A member
// that lost its data votes again only once a client acquires a lock after its wait.
func sayWhoDoesNotVote(locks *engine.Engine, log io.Writer) {
	var missing []string
	do := "see muxlock masters status"
	for _, m := range locks.Stats().Masters {
		if m.Cause == nil {
			continue
		}
		missing = append(missing, engine.MasterError{Master: m.Address, Err: m.Cause}.Error())
		if errors.Is(m.Cause, engine.ErrRestarted) {
			do = "later runs admit it then, and so does muxlock masters repair"
		}
	}
	if missing != nil {
		say(log, "locked without %s; %s", strings.Join(missing, "; "), do)
	}
}

// mostTries bounds how often --try asks the masters.
const mostTries = 20

// tryAcquire tries again while nobody has the lock: contenders that came at the same moment, as cron has several
// machines do, split the votes.
func tryAcquire(ctx context.Context, locks *engine.Engine, cfg engine.Config, name string) (lock *engine.Lock, err error) {
	pause := time.Millisecond
	for range mostTries {
		if lock, err = locks.TryAcquire(ctx, name, 0); !errors.Is(err, engine.ErrTaken) {
			break
		}
		i, unknown := admin.Inspect(ctx, locks, name)
		if err = takenBy(err, cfg, i); i.Held || unknown != nil {
			break
		}
		select {
		case <-ctx.Done():
			return nil, oneline.Join(err, ctx.Err())
		case <-time.After(rand.N(pause)):
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
	return lock, err
}

// takenBy adds the holder to err, an ErrTaken, if the masters name a holder other than this process.
func takenBy(err error, cfg engine.Config, i admin.Inspection) error {
	if i.Holder == "" || i.Holder == cfg.Holder { // our own key may be of an attempt that is being undone
		return err
	}
	return fmt.Errorf("%w by %s", engine.ErrTaken, i.Holder)
}

// whoHolds asks the masters for the holder and adds it to err, an ErrTaken. It connects anew, since a wait that
// ended may have no engine.
func whoHolds(ctx context.Context, err error, cfg engine.Config, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // masters may hang by now
	defer cancel()
	locks, failed := engine.New(ctx, cfg)
	if failed != nil {
		return err
	}
	defer locks.Close()
	i, _ := admin.Inspect(ctx, locks, name) // the error names masters that cannot be asked; the others are enough
	return takenBy(err, cfg, i)
}

// end releases the lock. It returns an error if the lock was lost before.
func (h *held) end(log io.Writer) (lost error) {
	err := oneline.Join(h.lock.Err(), h.release())
	switch {
	case errors.Is(err, engine.ErrLost), errors.Is(err, engine.ErrNotHeld):
		return err
	case err != nil: // the lease runs out by itself
		say(log, "%q may be held for the rest of its lease: %s", h.lock.Name(), err)
	}
	return nil
}

// release releases the lock, unless it was lost, and closes the engine.
func (h *held) release() error {
	err := h.lock.Release(context.Background())
	h.locks.Close()
	return err
}
