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

// held is a lock, and the engine that it is of.
type held struct {
	locks *engine.Engine
	lock  *engine.Lock
}

// acquire waits for the masters and the lock until ctx ends; with try it does neither.
func acquire(ctx context.Context, cfg engine.Config, name string, try bool, log io.Writer) (*held, error) {
	locks, leave, err := open(ctx, cfg, name, try, log)
	if err != nil {
		return nil, err
	}
	defer leave()
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

// open connects to the masters, again and again until ctx ends, with a place in the queue of
// this machine, which leave gives up; with try once, and without. Who finds no masters gives
// its place up meanwhile: that may be for its own settings, and others have better ones.
func open(ctx context.Context, cfg engine.Config, name string, try bool, log io.Writer) (locks *engine.Engine, leave func(), err error) {
	var last error
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		leave = func() {}
		if !try {
			if leave, err = queue(ctx, cfg, name); err != nil {
				return nil, nil, oneline.Join(last, err)
			}
		}
		locks, err = engine.New(ctx, cfg)
		if err == nil {
			return locks, leave, nil
		}
		leave()
		switch {
		case try || !errors.Is(err, engine.ErrNoQuorum):
			return nil, nil, err
		case last == nil:
			say(log, "waiting for the masters: %s", err)
		}
		if last == nil || ctx.Err() == nil { // one that ctx cut says less
			last = err
		}
		select {
		case <-ctx.Done():
			return nil, nil, oneline.Join(last, ctx.Err())
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// sayWhoDoesNotVote says which members of a set have no part in a lock that is had, and what to do: one
// that lost its data votes again only if clients ask for locks after its wait.
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

// mostTries bounds how often those who try at the same moment ask the masters.
const mostTries = 20

// tryAcquire tries again while nobody has the lock: those who came at the same moment, as
// cron lets several machines do, have split the votes.
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

// takenBy is err, an ErrTaken, with the holder where the masters know another one than us.
func takenBy(err error, cfg engine.Config, i admin.Inspection) error {
	if i.Holder == "" || i.Holder == cfg.Holder { // which may be of an attempt that is being undone
		return err
	}
	return fmt.Errorf("%w by %s", engine.ErrTaken, i.Holder)
}

// whoHolds is err, an ErrTaken, with who the masters say has the lock. It connects: a wait may have ended in
// the queue of the machine.
func whoHolds(ctx context.Context, err error, cfg engine.Config, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // for masters that hang by now
	defer cancel()
	locks, failed := engine.New(ctx, cfg)
	if failed != nil {
		return err
	}
	defer locks.Close()
	i, _ := admin.Inspect(ctx, locks, name) // a master that cannot be asked is left out
	return takenBy(err, cfg, i)
}

// end releases the lock, and returns why it was lost, if it was.
func (h *held) end(log io.Writer) (lost error) {
	err := oneline.Join(h.lock.Err(), h.release())
	switch {
	case errors.Is(err, engine.ErrLost), errors.Is(err, engine.ErrNotHeld):
		return err
	case err != nil: // its lease runs out
		say(log, "%q may be held for the rest of its lease: %s", h.lock.Name(), err)
	}
	return nil
}

// release gives the lock up, if it was not lost, and ends the engine.
func (h *held) release() error {
	err := h.lock.Release(context.Background())
	h.locks.Close()
	return err
}
