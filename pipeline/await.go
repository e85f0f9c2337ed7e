package pipeline

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"muxlock/pipeline/internal/wakeup"
)

// Await returns nil when it is time to ask for name again: on a quorum of masters that vote it may be free.
// On each of them it was read as absent, or it changed after it was read as present, or its lease
// has run out. Await is a hint and grants nothing. It polls only while fewer than a quorum of them
// notify: then it returns after poll, jittered by half, at the latest. All waiters for a name are
// woken at once, so callers add jitter of their own.
//
// The first call opens one more connection per master. Await returns ctx.Err() when ctx ends, and
// ErrClosed when the pipeline closes, at once. It starts no goroutine. Any number of calls may
// wait, for one name or many.
func (p *Pipeline) Await(ctx context.Context, name string, poll time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u, err := p.startWakeups()
	if err != nil {
		return err
	}
	w := u.Join(name, poll)
	defer u.Leave(w)
	select {
	case <-w.Free:
		return nil
	case <-w.Timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closing:
		return ErrClosed
	}
}

// startWakeups returns the pipeline's wakeups; the first call starts them.
func (p *Pipeline) startWakeups() (*wakeup.Wakeups, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.wakeups == nil {
		var options []rueidis.ClientOption
		for _, m := range p.masters {
			options = append(options, m.option)
		}
		p.wakeups = wakeup.New(p.ctx, options, p.quorum, p.cfg.Timeout)
		for _, m := range p.masters {
			p.wakeups.Votes(m.index, m.reported.votes)
		}
	}
	return p.wakeups, nil
}
