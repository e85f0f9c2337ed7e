package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"muxlock/internal/limits"
	"muxlock/internal/line"
	"muxlock/internal/resp"
	"muxlock/internal/token"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// This file puts tokens in line at the masters (scripts/wait.lua) and receives the locks that are passed to them
// (scripts/pass.lua). A connection has a line only if it has RESP3, and after a trial of the scripts. Nobody hears the
// channel of an entry in data from before a restart.

// A hearing is a connection's subscription to its channel.
type hearing struct {
	channel string // to subscribe to; "": the connection did not try yet; guarded by Pipeline.mu
	able    bool   // it is subscribed, and may call the scripts; guarded by Pipeline.mu
	why     error  // why it is not able; nil: it is, or that is not known yet; guarded by Pipeline.mu

	since time.Time // when the last answered check was sent; owned by run
	held  []string  // grants that wait for a check; owned by run
}

// mostLineTrials is how many connections in a row may end during the trial of a line.
const mostLineTrials = 3

var (
	errNoLine     = errors.New("has no line")
	errLineTrials = fmt.Errorf("%d connections in a row ended while they tried a line", mostLineTrials)
)

// Bounds of pushes: messages beyond them are forged.
const (
	mostHeld   = 1024                  // grants that wait for a check
	mostPushed = 4 * limits.ValueBytes // bytes of a message: three tokens, a mark and numbers
)

// Lines reports whether a quorum of masters has lines. It makes each connection that has not tried a line try one, and
// blocks until all have, or ctx ends.
func (p *Pipeline) Lines(ctx context.Context) bool {
	for {
		able, open, known := p.lines()
		if open > 0 {
			select {
			case <-known:
				continue
			case <-ctx.Done():
			case <-p.closing:
			}
		}
		return able >= p.quorum
	}
}

// lines counts the masters that have lines (able), and masters whose trial is still open. known is closed at the next
// change.
func (p *Pipeline) lines() (able, open int, known <-chan struct{}) {
	p.mu.Lock()
	defer p.unlockAndWrite()
	for _, m := range p.masters {
		if m.up && m.channel == "" && m.why == nil {
			m.prepareLocked(time.Now())
		}
		switch {
		case m.able:
			able++
		case m.up && m.why == nil:
			open++
		}
	}
	return able, open, p.known
}

// setHearingLocked notes whether m has a line, or why it has none.
func (m *master) setHearingLocked(able bool, why error) {
	m.able, m.why = able, why
	close(m.p.known)
	m.p.known = make(chan struct{})
}

// prepareLocked loads the scripts of a line, and finds out by the form of a null reply whether the connection has RESP3. A
// proxy may end the connection instead of answering. After mostLineTrials such ends the server is left without a line.
func (m *master) prepareLocked(now time.Time) {
	if m.lineTrials == mostLineTrials {
		m.setHearingLocked(false, errLineTrials)
		return
	}
	m.lineTrials++
	m.channel = conn.ReservedPrefix + token.New()
	e := &maintenance{}
	e.LoadLine()
	e.Command("GET", m.channel)
	e.answered = func(replies []resp.Reply) error {
		for i, s := range []scripts.Script{scripts.Wait, scripts.Pass} {
			if replies[i].Text != s.SHA1 {
				return m.hasNoLine(fmt.Errorf("SCRIPT LOAD %s: %w", s.Name, cmp.Or(replies[i].Err(), conn.ErrUnexpected)))
			}
		}
		if replies[2] != (resp.Reply{Number: 3}) {
			return m.hasNoLine(errors.New("the connection has no RESP3"))
		}
		m.session.Pushed = m.pushed
		m.p.mu.Lock()
		defer m.p.mu.Unlock()
		m.subscribeLocked(time.Now())
		return nil
	}
	m.sendLocked(e, now)
}

// subscribeLocked subscribes and tries the scripts on a name of its own: one token is granted the lock, and passes it to
// another token in line.
func (m *master) subscribeLocked(now time.Time) {
	holder, next := token.New(), token.New()
	add := func(b *conn.Batch, op Op, t string) {
		line := &Line{Request: line.Request{Version: 1, Lease: time.Second, Stale: time.Second}}
		b.InLine(&Request{Op: op, Name: m.channel, Token: t, TTL: time.Second, Line: line}, m.channel, "")
	}
	e := &maintenance{}
	e.Command("SUBSCRIBE", m.channel)
	add(&e.Batch, Wait, holder)
	add(&e.Batch, Wait, next)
	add(&e.Batch, Pass, holder)
	add(&e.Batch, Pass, next)
	want := []string{"subscribe", "g\n0\n-\n-", "q\n0\n", "2", "1"}
	e.answered = func(replies []resp.Reply) error {
		for i, r := range replies {
			got := r.Text
			if r.Kind == resp.Number {
				got = fmt.Sprint(r.Number)
			}
			switch {
			case r.Kind == resp.Failed:
				return m.hasNoLine(fmt.Errorf("trial of a line: %w", inScript(r.Err(), inLine)))
			case !strings.HasPrefix(got, want[i]):
				return m.hasNoLine(fmt.Errorf("trial of a line: %w %q; NOPERM for one of %s has that effect", conn.ErrUnexpected, got, inLine))
			}
		}
		m.p.mu.Lock()
		defer m.p.mu.Unlock()
		m.lineTrials = 0
		m.setHearingLocked(true, nil)
		return nil
	}
	m.sendLocked(e, now)
}

// inLine are the commands of the scripts of a line.
const inLine = "ZADD, ZREM, ZRANGE, ZRANK, HSET, HGET, HDEL, TIME or PUBLISH"

// hasNoLine notes why the connection has no line. If the connection cannot serve rounds either, hasNoLine returns an error,
// which ends the connection.
func (m *master) hasNoLine(why error) error {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.lineTrials = 0
	m.setHearingLocked(false, why)
	if conn.IsServerWide(why) {
		return why
	}
	return nil
}

// A Listener receives the masters' answers about its token. The pipeline calls it under its own locks: it may neither block
// nor call the pipeline.
type Listener interface {
	Hear(master int, a Answer)
}

// A listener is a Listener in Pipeline.listeners, which has that of each token in line.
type listener struct {
	name string
	Listener
}

// Listen registers the Listener of a token, until Unlisten. It must precede the token's first Wait.
func (p *Pipeline) Listen(name, token string, to Listener) {
	p.listeners.Store(token, listener{name, to})
}

// Unlisten undoes Listen. A call of Hear that is under way may outlast Unlisten.
func (p *Pipeline) Unlisten(token string) { p.listeners.Delete(token) }

// hears passes a master's answer to the token's Listener.
func (p *Pipeline) hears(m *master, token string, a Answer) {
	found, there := p.listeners.Load(token)
	if !there {
		return
	}
	l := found.(listener)
	if p.set != nil && a.Fence > 0 {
		p.set.Saw(l.name, a.Fence)
	}
	l.Hear(m.index, a)
}

// pushed takes a message. A grant is a vote: it counts only if the master votes now, and its data have not changed. With
// fencing the grant's mark shows both. Else an answered check must be no older than tickPeriod, as for a vote
// (checkLocked): the grant waits for one.
func (m *master) pushed(channel, message string) {
	token, a, ok := conn.PushedAnswer(message)
	if !ok || channel != m.channel || len(message) > mostPushed {
		return
	}
	if a.Kind == line.Granted && m.p.set == nil && time.Since(m.since) > tickPeriod {
		if len(m.held) < mostHeld {
			m.held = append(m.held, message)
		}
		m.p.mu.Lock()
		m.checkLocked(time.Now(), tickPeriod)
		m.p.unlockAndWrite()
		return
	}
	m.grants(token, a)
}

func (m *master) grants(token string, a Answer) {
	if a.Kind == line.Granted && (m.p.set != nil && m.notMarked(a.Mark) != nil || m.p.set == nil && m.notVotingNow() != nil) {
		return
	}
	m.p.hears(m, token, a)
}

// vouched notes the answer to a check that was sent at sent, and passes on the grants that waited for it.
func (m *master) vouched(sent time.Time) {
	m.since = sent
	held := m.held
	m.held = nil
	for _, message := range held {
		if token, a, ok := conn.PushedAnswer(message); ok {
			m.grants(token, a)
		}
	}
}
