package pipeline

import (
	"context"
	"fmt"
	"muxlock/internal/oneline"
	"muxlock/pipeline/internal/membership"
	"slices"
	"time"
)

// NotReadyError is returned by Ready. It says which masters do not vote, and why.
type NotReadyError struct {
	Voting, Quorum, Masters int
	// Left is how long it takes until a quorum votes, if nothing else happens. 0: not known,
	// because too many masters are away.
	Left   time.Duration
	Causes []MasterError // of the masters that do not vote
}

func (e *NotReadyError) Error() string {
	text := fmt.Sprintf("%d of %d masters vote, %d are needed", e.Voting, e.Masters, e.Quorum)
	if e.Left > 0 {
		text += fmt.Sprintf(", in %v", membership.Tenths(e.Left))
	}
	for _, c := range e.Causes {
		text += "; " + c.Error()
	}
	return text
}

// Unwrap makes the masters' errors visible to errors.Is and errors.As.
func (e *NotReadyError) Unwrap() []error { return errorsOf(e.Causes) }

// readyTick is how often Ready checks whether masters have come or gone. It computes when waits end.
const readyTick = 50 * time.Millisecond

// Ready returns nil once a quorum of masters votes: they are up, and do not wait after a restart.
// When ctx ends first, it returns a NotReadyError joined to ctx's error. It returns one at once if masters
// of other sets leave no quorum (ErrConfigMismatch). It returns ErrClosed when the pipeline closes. With a
// ctx that has ended it returns the present state.
func (p *Pipeline) Ready(ctx context.Context) error {
	for {
		missing, mismatched, err := p.missing(time.Now())
		switch {
		case err != nil:
			return err
		case missing == nil:
			return nil
		case mismatched:
			return missing
		}
		tick := readyTick
		if missing.Left > 0 {
			tick = min(tick, missing.Left)
		}
		select {
		case <-ctx.Done():
			return oneline.Join(missing, ctx.Err())
		case <-p.closing:
		case <-time.After(tick):
		}
	}
}

// missing returns why no quorum votes; nil: a quorum votes. With mismatched, masters of other sets leave none.
func (p *Pipeline) missing(now time.Time) (_ *NotReadyError, mismatched bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, ErrClosed
	}
	e := &NotReadyError{Quorum: p.quorum, Masters: len(p.masters)}
	var ends []time.Time // of the waits of masters that are up
	for _, m := range p.masters {
		why := m.cause
		if m.resting { // its server may have been restarted meanwhile
			m.wakeLocked()
		}
		if m.up {
			if why = m.notVoting(now); why == nil {
				e.Voting++
				continue
			}
			if from := m.votesFrom(); from.After(now) {
				ends = append(ends, from)
			}
		}
		e.Causes = append(e.Causes, MasterError{Master: m.address, Err: why})
	}
	more := e.Quorum - e.Voting
	if more <= 0 {
		return nil, false, nil
	}
	_, mismatched = p.foreignLocked()
	if more <= len(ends) {
		slices.SortFunc(ends, time.Time.Compare)
		e.Left = ends[more-1].Sub(now)
	}
	return e, mismatched, nil
}
