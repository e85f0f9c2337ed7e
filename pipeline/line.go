package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"muxlock/internal/resp"
	"muxlock/internal/token"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// This file lets tokens stand in line at the masters (scripts/wait.lua) and hear when they are passed a lock
// (scripts/pass.lua).
//
// A master tells of a lock that was passed on by a push on the connection of rounds. So a push comes in order with the
// replies, and ends with the connection: nobody hears the channel of an entry in data that come from before a restart. The
// connection subscribes when somebody first asks for a line (Lines), and only if it has RESP3 and a trial of the scripts
// succeeds. Until then it is as if there were no lines.

// A hearing is what a connection hears.
type hearing struct {
	channel string // that it asked to hear; "": it did not try yet; guarded by Pipeline.mu
	able    bool   // it hears, and the scripts may be called; guarded by Pipeline.mu
	why     error  // why it is not able; nil: it is, or that is not known yet; guarded by Pipeline.mu

	since time.Time // when the last look was sent that was answered; owned by run
	held  []string  // grants that wait for a check; owned by run
}

// mostLineTrials is how many connections in a row may end while they try a line.
const mostLineTrials = 3

var (
	errNoLine     = errors.New("has no line")
	errLineTrials = fmt.Errorf("%d connections in a row ended while they tried a line", mostLineTrials)
)

// Bounds of what is heard: whoever publishes more forges it.
const (
	mostHeld   = 1024              // grants that wait for a check
	mostPushed = 4 * conn.MaxValue // bytes of a message: three tokens, a mark and numbers
)

// Lines reports whether a quorum of masters has lines. It prepares those that did not try since they were connected, and
// blocks until they have, or ctx ends.
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

// lines counts the masters that have lines, and those of which that is not known yet. The channel is closed when that has
// changed.
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

// setHearingLocked notes what is known of a master's line.
func (m *master) setHearingLocked(able bool, why error) {
	m.able, m.why = able, why
	close(m.p.known)
	m.p.known = make(chan struct{})
}

// prepareLocked loads the scripts of a line, and finds out whether the connection has RESP3: only there is a null one of
// another form. A proxy may end the connection instead of an answer. After mostLineTrials of that the server is left without
// a line.
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

// subscribeLocked subscribes and tries the scripts: on a name of its own, one token is granted the lock, another stands in
// line, and is passed it.
func (m *master) subscribeLocked(now time.Time) {
	holder, next := token.New(), token.New()
	add := func(b *conn.Batch, op Op, t string) {
		line := &Line{Version: 1, Lease: time.Second, Stale: time.Second}
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
				return m.hasNoLine(fmt.Errorf("trial of a line: %w", deniedInScript(r.Err(), inLine)))
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

// hasNoLine notes why the connection has no line. It returns an error, which ends the connection, if that cannot serve
// rounds either.
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

// A Listener hears what masters say of its token. The pipeline calls it under its own locks: it may neither block nor call
// the pipeline.
type Listener interface {
	Hear(master int, a Answer)
}

// listeners are those that stand in line, by token.
type listeners struct {
	mu sync.Mutex // guards the following; taken last
	by map[string]listener
}

type listener struct {
	name string
	Listener
}

// Listen lets a listener hear of a token, until Unlisten. It comes before the token's first Wait.
func (p *Pipeline) Listen(name, token string, to Listener) {
	l := &p.listeners
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = make(map[string]listener)
	}
	l.by[token] = listener{name, to}
}

// Unlisten ends Listen. A call of Hear that is under way may still end after it.
func (p *Pipeline) Unlisten(token string) {
	l := &p.listeners
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.by, token)
}

// hears passes on what a master says of a token.
func (p *Pipeline) hears(m *master, token string, a Answer) {
	p.listeners.mu.Lock()
	l, there := p.listeners.by[token]
	p.listeners.mu.Unlock()
	if !there {
		return
	}
	if p.set != nil && a.Fence > 0 {
		p.set.Saw(l.name, a.Fence)
	}
	l.Hear(m.index, a)
}

// pushed takes a message. A grant is a vote: it counts only if the master votes now, and has the data that it was seen
// with. With fencing its mark shows that. Else a check must have been sent no longer than tickPeriod ago, as for a vote
// (checkLocked): the grant waits for one.
func (m *master) pushed(channel, message string) {
	token, a, ok := conn.PushedAnswer(message)
	if !ok || channel != m.channel || len(message) > mostPushed {
		return
	}
	if a.Kind == conn.Granted && m.p.set == nil && time.Since(m.since) > tickPeriod {
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
	if a.Kind == conn.Granted && (m.p.set != nil && m.notMarked(a.Mark) != nil || m.p.set == nil && m.server.NotVoting(time.Now()) != nil) {
		return
	}
	m.p.hears(m, token, a)
}

// vouched notes that a check was answered that was sent at that time, and passes on the grants that waited for it.
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
