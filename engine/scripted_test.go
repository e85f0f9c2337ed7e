package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// scripted stands for the pipeline and five masters that agree, in virtual time. What a
// request does is done after half of delay, and its answer comes after the other half.
type scripted struct {
	mu    sync.Mutex
	delay time.Duration
	keys  map[string]scriptedKey
	log   []pipeline.Request // as executed
	away  bool               // no master answers, after delay
	round uint64
	ended bool
}

type scriptedKey struct {
	token string
	ends  time.Time
}

func (s *scripted) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// count returns how many requests of the kind were executed.
func (s *scripted) count(op pipeline.Op) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, req := range s.log {
		if req.Op == op {
			n++
		}
	}
	return n
}

// locked returns the names that are locked.
func (s *scripted) locked() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, k := range s.keys {
		if time.Now().Before(k.ends) {
			names = append(names, name)
		}
	}
	return names
}

func (s *scripted) execute(req pipeline.Request) pipeline.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round++
	out := pipeline.Outcome{Round: s.round}
	if s.away {
		out.Verdict, out.Tally.Unknown = quorum.NoQuorum, 5
		return out
	}
	s.log = append(s.log, req)
	k, there := s.keys[req.Name]
	there = there && time.Now().Before(k.ends)
	ours := there && k.token == req.Token
	ends := time.Now().Add(req.TTL)
	switch {
	case req.Op == pipeline.Acquire && !there:
		s.keys[req.Name] = scriptedKey{req.Token, ends}
	case req.Op == pipeline.Extend && ours:
		if ends.After(k.ends) {
			s.keys[req.Name] = scriptedKey{req.Token, ends}
		}
	case req.Op == pipeline.Release && ours:
		delete(s.keys, req.Name)
	default:
		out.Verdict, out.Tally.Refused = quorum.Denied, 5
		return out
	}
	out.Verdict, out.Tally.Granted = quorum.Won, 5
	return out
}

func (s *scripted) Do(ctx context.Context, req pipeline.Request) (pipeline.Outcome, error) {
	s.mu.Lock()
	half, ended := s.delay/2, s.ended
	s.mu.Unlock()
	if ended {
		return pipeline.Outcome{}, ErrClosed
	}
	done := make(chan pipeline.Outcome, 1)
	go func() {
		time.Sleep(half)
		out := s.execute(req)
		time.Sleep(half)
		done <- out
	}()
	select {
	case out := <-done:
		return out, nil
	case <-ctx.Done():
		if req.Op == pipeline.Acquire {
			go func() {
				out := <-done
				s.Post(pipeline.Request{Op: pipeline.Release, Name: req.Name, Token: req.Token, Round: out.Round})
			}()
		}
		return pipeline.Outcome{}, ctx.Err()
	}
}

func (s *scripted) Start(req pipeline.Request, to pipeline.Receiver) error {
	go func() {
		out, _ := s.Do(context.Background(), req)
		to.Decided(out)
		to.Counted(int(out.Tally.Granted))
	}()
	return nil
}

func (s *scripted) Post(req pipeline.Request) {
	go func() { _, _ = s.Do(context.Background(), req) }()
}

// Await is told at once when a key goes, as by client tracking.
func (s *scripted) Await(ctx context.Context, name string, _ time.Duration) error {
	for {
		s.mu.Lock()
		k, there := s.keys[name]
		half := s.delay / 2
		s.mu.Unlock()
		if !there || !time.Now().Before(k.ends) {
			time.Sleep(half)
			return nil
		}
		select {
		case <-time.After(half / 10):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *scripted) Stats() pipeline.Stats { return pipeline.Stats{} }
func (s *scripted) Close()                { s.set(func() { s.ended = true }) }

// inBubble runs test with an engine over scripted masters that answer in a millisecond.
func inBubble(t *testing.T, test func(t *testing.T, e *Engine, s *scripted), changes ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fresh := waiters.New // pooled waiters hold a channel, which must not travel between bubbles
		waiters = sync.Pool{New: fresh}
		defer func() { waiters = sync.Pool{New: fresh} }()
		s := &scripted{delay: time.Millisecond, keys: make(map[string]scriptedKey)}
		cfg := Config{Masters: make([]string, 5)}
		for _, change := range changes {
			change(&cfg)
		}
		e := newEngine(cfg.withDefaults(), s)
		test(t, e, s)
		_ = e.Close()
		time.Sleep(time.Minute) // what was posted is done
	})
}
