package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// scripted stands for the pipeline and five masters that agree, in virtual time. What a
// request does is done after half of delay, in order of arrival, and its answer comes
// after the other half.
type scripted struct {
	mu      sync.Mutex
	delay   time.Duration
	keys    map[string]scriptedKey
	intents map[string]time.Time // until when they keep readers out; nil: there was none
	log     []pipeline.Request   // as executed
	when    []time.Time          // the same
	away    bool                 // no master answers, after delay
	yes     uint8                // masters that say yes when they agree; 0: all five
	round   pipeline.Origin
	sent    int           // requests, executed or not
	last    chan struct{} // closed when the request that was sent last is executed
	ended   bool
	refuses bool  // all but releases
	missing error // what Ready returns

	changed chan struct{} // closed and replaced with every change
}

type scriptedKey struct {
	token   string
	ends    time.Time
	readers map[string]time.Time // when each ends; nil: there are none
}

// executeSharedLocked executes what readers ask, and writers that wait for them.
func (s *scripted) executeSharedLocked(req pipeline.Request) (done, held bool) {
	now, k := time.Now(), s.keys[req.Name]
	there := now.Before(k.ends)
	ends, reads := k.readers[req.Token]
	reads = reads && now.Before(ends)
	switch {
	case req.Op == pipeline.Intend && (req.TTL == 0 || there && k.readers != nil):
		if s.intents == nil {
			s.intents = make(map[string]time.Time)
		}
		s.intents[req.Name] = now.Add(req.TTL)
		s.changedLocked()
		return true, false
	case req.Op == pipeline.Intend, req.Op == pipeline.Acquire && now.Before(s.intents[req.Name]), req.Op != pipeline.Acquire && !reads:
		return false, false
	case req.Op == pipeline.Acquire && there && k.readers == nil:
		return false, true
	case req.Op == pipeline.Acquire && !there:
		k.readers = make(map[string]time.Time)
		fallthrough
	default:
		if asked := now.Add(req.TTL); ends.Before(asked) { // an extend never shortens
			ends = asked
		}
		k.readers[req.Token] = ends
	case req.Op == pipeline.Release:
		delete(k.readers, req.Token)
	}
	k.ends = time.Time{}
	for _, ends := range k.readers {
		if k.ends.Before(ends) {
			k.ends = ends
		}
	}
	if s.keys[req.Name] = k; len(k.readers) == 0 {
		delete(s.keys, req.Name)
	}
	s.changedLocked()
	return true, false
}

func (s *scripted) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.changedLocked()
}

func (s *scripted) changedLocked() {
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
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

// requests returns how many were sent.
func (s *scripted) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// drop deletes the key of a name, as an administrator does.
func (s *scripted) drop(name string) {
	s.set(func() { delete(s.keys, name) })
}

// history returns what was executed, and when.
func (s *scripted) history() ([]pipeline.Request, []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log), slices.Clone(s.when)
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

// execute executes a request, or those of a set: all of them or none.
func (s *scripted) execute(reqs ...pipeline.Request) (outs []pipeline.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := false
	for _, req := range reqs {
		out := pipeline.Outcome{Verdict: quorum.Denied, Tally: quorum.Tally{Refused: 5}}
		if k, there := s.keys[req.Name]; there && time.Now().Before(k.ends) {
			refused, out.Held = true, 5
		}
		outs = append(outs, out)
	}
	if reqs[0].OneOf && !s.away {
		for i, taken := 0, false; i < len(reqs); i++ {
			if !taken && outs[i].Held == 0 {
				taken, outs[i] = true, s.executeLocked(reqs[i])
			}
			outs[i].Origin = pipeline.OriginForeign + s.round
		}
		return outs
	}
	if refused && reqs[0].Joint != 0 && !s.away {
		s.log, s.when = append(s.log, reqs...), append(s.when, slices.Repeat([]time.Time{time.Now()}, len(reqs))...)
		return outs
	}
	for i, req := range reqs {
		outs[i] = s.executeLocked(req)
	}
	return outs
}

func (s *scripted) executeLocked(req pipeline.Request) pipeline.Outcome {
	s.round++
	out := pipeline.Outcome{Origin: pipeline.OriginForeign + s.round}
	if s.away {
		out.Verdict, out.Tally.Unknown = quorum.NoQuorum, 5
		return out
	}
	s.log, s.when = append(s.log, req), append(s.when, time.Now())
	out.Verdict, out.Tally.Refused = quorum.Denied, 5
	if req.Shared || req.Op == pipeline.Intend {
		done, held := s.executeSharedLocked(req)
		if held {
			out.Held = 5
		}
		if done {
			out.Verdict, out.Tally = quorum.Won, quorum.Tally{Granted: 5}
		}
		return out
	}
	k, there := s.keys[req.Name]
	there = there && time.Now().Before(k.ends)
	ours := there && k.token == req.Token
	ends := time.Now().Add(req.TTL)
	switch {
	case req.Op == pipeline.Acquire && !there:
		s.keys[req.Name] = scriptedKey{token: req.Token, ends: ends}
	case req.Op == pipeline.Extend && ours:
		if ends.After(k.ends) {
			s.keys[req.Name] = scriptedKey{token: req.Token, ends: ends}
		}
	case req.Op == pipeline.Release && ours:
		delete(s.keys, req.Name)
		s.changedLocked()
	default:
		return out
	}
	out.Verdict, out.Tally = quorum.Won, quorum.Tally{Granted: 5}
	if s.yes > 0 {
		out.Tally.Granted, out.Tally.Refused = s.yes, 5-s.yes
	}
	return out
}

// send takes a request, or those of a set, into the line; the answers come out of the channel.
func (s *scripted) send(reqs ...pipeline.Request) (<-chan []pipeline.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.refuses && reqs[0].Op != pipeline.Release {
		return nil, ErrClosed
	}
	s.sent += len(reqs)
	half, before, executed := s.delay/2, s.last, make(chan struct{})
	s.last = executed
	done := make(chan []pipeline.Outcome, 1)
	go func() {
		time.Sleep(half)
		if before != nil {
			<-before
		}
		outs := s.execute(reqs...)
		close(executed)
		time.Sleep(half)
		done <- outs
	}()
	return done, nil
}

func (s *scripted) Do(ctx context.Context, req pipeline.Request) (pipeline.Outcome, error) {
	outs, err := s.doAll(ctx, req)
	return outs[0], err
}

func (s *scripted) doAll(ctx context.Context, reqs ...pipeline.Request) ([]pipeline.Outcome, error) {
	none := make([]pipeline.Outcome, len(reqs))
	done, err := s.send(reqs...)
	if err != nil {
		return none, err
	}
	select {
	case outs := <-done:
		return outs, nil
	case <-ctx.Done():
		for _, req := range reqs {
			if req.Op == pipeline.Acquire {
				req.Op, req.Joint, req.OneOf = pipeline.Release, 0, false
				s.Post(req)
			}
		}
		return none, ctx.Err()
	}
}

func (s *scripted) Start(req pipeline.Request, to pipeline.Receiver) error {
	done, err := s.send(req)
	if err == nil {
		go func() {
			out := (<-done)[0]
			to.Decided(out)
			to.Counted(1<<out.Tally.Granted-1, 0)
		}()
	}
	return err
}

func (s *scripted) Post(req pipeline.Request) { _, _ = s.send(req) }

// Await is notified when a key goes, as by client tracking, and when it expires.
func (s *scripted) Await(ctx context.Context, name string, _ time.Duration) error {
	for {
		s.mu.Lock()
		if s.changed == nil {
			s.changedLocked()
		}
		k, there := s.keys[name]
		if of, isIntent := strings.CutPrefix(name, pipeline.IntentPrefix); isIntent {
			k.ends, there = s.intents[of]
		}
		half, changed, ended := s.delay/2, s.changed, s.refuses
		s.mu.Unlock()
		left := time.Until(k.ends)
		switch {
		case ended:
			return ErrClosed
		case !there || left <= 0:
			time.Sleep(half)
			return nil
		}
		select {
		case <-changed:
			if k.readers != nil { // one came or went
				time.Sleep(half)
				return nil
			}
		case <-time.After(left):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *scripted) Inspect(_ context.Context, name string) ([]pipeline.Value, error) {
	s.mu.Lock()
	delay := s.delay
	s.mu.Unlock()
	time.Sleep(delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	return []pipeline.Value{{Token: s.keys[name].token}}, nil
}

// DoMany is Do for each of the requests or sets, side by side.
func (s *scripted) DoMany(ctx context.Context, reqs []pipeline.Request, each func(int, *pipeline.Outcome, error)) {
	outs, errs := make([]pipeline.Outcome, len(reqs)), make([]error, len(reqs))
	var all sync.WaitGroup
	for from, to := 0, 0; from < len(reqs); from = to {
		to = from + 1
		for reqs[from].Joint != 0 && to < len(reqs) && reqs[to].Joint == reqs[from].Joint {
			to++
		}
		all.Go(func() {
			got, err := s.doAll(ctx, reqs[from:to]...)
			copy(outs[from:], got)
			copy(errs[from:to], slices.Repeat([]error{err}, to-from))
		})
	}
	all.Wait()
	for i := range reqs {
		each(i, &outs[i], errs[i])
	}
}

func (s *scripted) Ready(context.Context) error { return s.missing }
func (s *scripted) Full() bool                  { return false }
func (s *scripted) Voted() uint64               { return 0 }

func (s *scripted) Lines(context.Context) bool              { return false }
func (s *scripted) Listen(_, _ string, _ pipeline.Listener) {}
func (s *scripted) Unlisten(string)                         {}

func (s *scripted) Stats() pipeline.Stats { return pipeline.Stats{} }
func (s *scripted) Refuse()               { s.set(func() { s.refuses = true }) }
func (s *scripted) Close()                { s.set(func() { s.ended = true }) }

// inBubble runs test with an engine over scripted masters that answer in a millisecond.
func inBubble(t *testing.T, test func(t *testing.T, e *Engine, s *scripted), changes ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{delay: time.Millisecond, keys: make(map[string]scriptedKey)}
		cfg := Config{Masters: make([]string, 5)}
		for _, change := range changes {
			change(&cfg)
		}
		e := newEngine(cfg.withDefaults(), s, newRecord(&cfg))
		defer time.Sleep(time.Minute) // what was posted is done
		defer e.Close()
		test(t, e, s)
	})
}
