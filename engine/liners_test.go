package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/line"
	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// liners stands for five masters that keep a line. What they answer is the test's.
type liners struct {
	scripted
	answers func(n int, req pipeline.Request) []pipeline.Answer // to the n-th Wait, from 1, by master; Kind 0: none

	nobody bool         // stands in line
	looks  atomic.Int64 // Inspect

	mu     sync.Mutex // guards the following
	heard  map[string]pipeline.Listener
	waits  []pipeline.Request
	passes []pipeline.Request
	at     []time.Time // of waits
}

func (l *liners) Lines(context.Context) bool { return true }

func (l *liners) Inspect(ctx context.Context, name string) ([]pipeline.Value, error) {
	l.looks.Add(1)
	return l.scripted.Inspect(ctx, name)
}

func (l *liners) Listen(_, token string, to pipeline.Listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard[token] = to
}

func (l *liners) Unlisten(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.heard, token)
}

func (l *liners) Do(ctx context.Context, req pipeline.Request) (pipeline.Outcome, error) {
	switch req.Op {
	case pipeline.Wait:
	case pipeline.Pass:
		l.Post(req)
		out := pipeline.Outcome{Verdict: quorum.Won, PassedOn: 5}
		if l.nobody {
			out.PassedOn = 0
		}
		return out, nil
	default:
		return l.scripted.Do(ctx, req)
	}
	l.mu.Lock()
	l.waits, l.at = append(l.waits, req), append(l.at, time.Now())
	n, to := len(l.waits), l.heard[req.Token]
	l.mu.Unlock()
	time.Sleep(time.Millisecond)
	out := pipeline.Outcome{Origin: pipeline.OriginForeign + 1}
	for m, a := range l.answers(n, req) {
		switch a.Kind {
		case 0:
			out.Tally.Unknown++
			continue
		case line.Granted, line.Has:
			out.Tally.Granted++
		default:
			out.Tally.Refused++
		}
		a.Version = req.Line.Version
		to.Hear(m, a)
	}
	if out.Tally.Votes() == 0 { // no master answers
		<-ctx.Done()
		return pipeline.Outcome{}, ctx.Err()
	}
	out.Verdict = out.Tally.Verdict(out.Tally.Votes())
	return out, nil
}

func (l *liners) Post(req pipeline.Request) {
	if req.Op != pipeline.Pass {
		l.scripted.Post(req)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passes = append(l.passes, req)
}

// hears lets all who stand in line hear something of one master.
func (l *liners) hears(master int, a pipeline.Answer) {
	for _, to := range l.listeners() {
		to.Hear(master, a)
	}
}

// hearsOf is hears of the first n masters, which say the same.
func (l *liners) hearsOf(n int, a pipeline.Answer) {
	for m := range n {
		l.hears(m, a)
	}
}

// requests returns the Waits that were sent, times when, and passed the Passes.
func (l *liners) requests() []pipeline.Request { return seenBy(l, &l.waits) }
func (l *liners) times() []time.Time           { return seenBy(l, &l.at) }
func (l *liners) passed() []pipeline.Request   { return seenBy(l, &l.passes) }

func seenBy[T any](l *liners, all *[]T) []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(*all)
}

func (l *liners) asked() int { return len(l.requests()) }

// listeners are who stands in line.
func (l *liners) listeners() []pipeline.Listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.heard))
}

// ours is a value of another process's engine.
const ours = "AAAAAAAAAAAAAAAAAAAAAA==@other"

// all returns the answer of five masters that agree.
func all(a pipeline.Answer) []pipeline.Answer { return []pipeline.Answer{a, a, a, a, a} }

func inLineBehind(value string) pipeline.Answer {
	return pipeline.Answer{Kind: line.InLine, Rank: 1, Value: value}
}

func grantedFor(d time.Duration) pipeline.Answer {
	return pipeline.Answer{Kind: line.Granted, Lease: d, Version: 1}
}

// standing runs a test with an engine whose Acquire of "name" stands in line, known to be contended.
func standing(t *testing.T, answers func(int, pipeline.Request) []pipeline.Answer, test func(t *testing.T, l *liners, e *Engine, got <-chan acquired), changes ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &liners{scripted: scripted{delay: time.Millisecond, keys: make(map[string]scriptedKey)}, answers: answers, heard: make(map[string]pipeline.Listener)}
		cfg := Config{Masters: make([]string, 5)}
		for _, change := range changes {
			change(&cfg)
		}
		e := newEngine(cfg.withDefaults(), l, new(record))
		defer time.Sleep(time.Minute)
		defer e.Close()
		c := &contender{e: e, name: "name", tries: attempts{ttl: e.cfg.TTL}, turn: ownTurn{began: clock.Now()}}
		_, _, _, err := e.names.join(c, true, 0)
		require.NoError(t, err)
		c.state.stoodInLine(clock.Instant{}, nil)
		c.state.stopContending(false)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		test(t, l, e, goAcquire(ctx, e, 0))
	})
}
