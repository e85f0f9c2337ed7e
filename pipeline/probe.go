package pipeline

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/internal/resp"
	"muxlock/internal/serverinfo"
	"muxlock/internal/token"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
	"muxlock/scripts"
)

// errSameServer is returned when two of the configured addresses reach one server.
var errSameServer = errors.New("two addresses reach the same server")

// noDatabase is in a server's error about SELECT.
const noDatabase = "DB index is out of range"

// probeUntilAdmitted probes the master, with pauses in between. It returns false when the pipeline
// closes. A server that was stopped takes connections, but does not greet. Then the time passes in the
// dial and not in the pause: when the server goes on, it carries out what was sent before, and the
// pending releases are to follow soon.
func (m *master) probeUntilAdmitted() bool {
	if m.pause == 0 || time.Since(m.admitted) > redlock.LongestRedial {
		m.pause = redlock.FirstRedial
	}
	m.waitWhileIdle()
	var took time.Duration
	for conn.SleepGrowing(m.p.ctx, &m.pause, took) {
		start := time.Now()
		err := m.dialAndAdmit(m.p.ctx, 2*m.pause)
		took = time.Since(start)
		if err == nil || m.p.ctx.Err() != nil {
			return err == nil
		}
		m.p.mu.Lock()
		m.cause = err
		m.p.mu.Unlock()
	}
	return false
}

// waitWhileIdle waits before the first dial if no round was formed for redlock.LongestRedial. It
// waits until a round is formed, for at most a random time of up to redlock.LongestRedial. So after a
// restart of the master the idle processes of a fleet do not all dial at once. An admission costs the
// master 0.4 ms.
func (m *master) waitWhileIdle() {
	m.p.mu.Lock()
	idle := time.Since(m.p.formed) > redlock.LongestRedial
	m.p.mu.Unlock()
	if !idle {
		return
	}
	select {
	case <-time.After(redlock.Jitter(0, redlock.LongestRedial, fastrand.Uint32n)):
	case <-m.wanted:
	case <-m.p.ctx.Done():
	}
}

// probe checks whether the server behind a new connection is fit to vote, in this order: its
// identity, the scripts, its set, the pending releases, and a trial of the calls. Until the master is
// admitted, nothing else is sent.
func (m *master) probe() error {
	var first conn.Batch
	first.Command("INFO")
	first.LoadScripts(m.p.cfg.Fencing)
	membership.AddLook(&first)
	asked := time.Now()
	replies, err := conn.Checked(m.ask(&first))
	if err != nil {
		return err
	}
	info := serverinfo.Parse(replies[0].Text)
	switch unusable := info.Unusable(); {
	case unusable != nil:
		return refusal{unusable}
	case info.Loading():
		return errors.New("LOADING its dataset")
	case m.p.cfg.Fencing && info.Evicts():
		return refusal{errors.New("evicts keys, those of fencing too: maxmemory-policy must be noeviction")}
	}
	if err := m.note(info, asked); err != nil {
		return err
	}
	loaded := scripts.All(m.p.cfg.Fencing)
	for i, s := range loaded {
		switch reply := replies[1+i]; {
		case reply.Err() != nil:
			return fmt.Errorf("SCRIPT LOAD %s: %w", s.Name, reply.Err())
		case reply.Text != s.SHA1:
			return fmt.Errorf("SCRIPT LOAD %s: server computed another SHA-1", s.Name)
		}
	}
	found, err := membership.ReadLook(replies[1+len(loaded):], m.p.cfg.Fencing)
	if err != nil {
		return err
	}
	m.p.mu.Lock()
	m.metLocked(found)
	m.p.mu.Unlock()
	if err := m.sendAllPending(); err != nil {
		return err
	}
	if err := m.trial(); err != nil {
		return err
	}
	return m.measure()
}

// measure sends three checks, so that the pace knows the round trip to the master before load comes.
// If so few acquires may wait that there can be no load, measure does nothing, and saves three round
// trips: the first small writes tell the pace the same.
func (m *master) measure() error {
	if m.p.takesFew() {
		return nil
	}
	for range 3 {
		e := m.newCheck(time.Now(), true)
		replies, err := m.ask(&e.Batch)
		if err == nil {
			err = e.answered(replies)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ask sends a batch while nothing else is under way, and returns the replies. The pace learns
// the round trip from it.
func (m *master) ask(b *conn.Batch) (replies []resp.Reply, err error) {
	start := time.Now()
	m.replies, err = m.session.Ask(b, m.replies)
	if err == nil {
		now := time.Now()
		m.p.mu.Lock()
		m.pace.NoteBase(now.Sub(start), now)
		m.p.mu.Unlock()
	}
	return m.replies, err
}

// note passes a reply of INFO to the master's server. An error means that the connection must
// end.
func (m *master) note(info serverinfo.Info, asked time.Time) (err error) {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	last := m.server
	m.server, err = m.server.Check(info, asked, time.Now())
	if m.server.Swaps != last.Swaps {
		m.member.admission.Lost()
	}
	if m.server.RunID != last.RunID {
		m.triedInVain, m.lineTrials = false, 0
	}
	return err
}

// trial takes, extends and releases a lock of the engine's own, and calls every script. So a server
// that answers but refuses (OOM, MISCONF, READONLY, an ACL without a command that the scripts need)
// is not admitted.
func (m *master) trial() error {
	t := token.New()
	name := ReservedPrefix + "trial:" + t
	var calls conn.Batch
	calls.Plain(&Request{Op: Acquire, Name: name, Token: t, TTL: time.Second}, 0)
	calls.Plain(&Request{Op: Extend, Name: name, Token: t, TTL: 2 * time.Second}, 0)
	calls.Plain(&Request{Op: Release, Name: name, Token: t}, 0)
	calls.Fold([]Request{{Op: Release, Name: name, Token: t}}, 0)
	replies, err := m.ask(&calls)
	if err != nil {
		return err
	}
	for i, commands := range []string{"SET", "GET, PTTL or PEXPIRE", "GET or DEL"} {
		op, vote := Op(i), quorum.Unknown
		if vote, err = conn.PlainVote(op, replies[i]); err == nil && vote != quorum.Granted {
			err = conn.ErrUnexpected
		}
		if err != nil {
			return fmt.Errorf("trial lock: %w", inScript(err, commands))
		}
	}
	if _, _, err = conn.BatchVotes(replies[3], 1); err != nil {
		return fmt.Errorf("trial lock: %w", err)
	}
	if m.p.cfg.Fencing { // the commands of its scripts
		var b conn.Batch
		b.Command("EVALSHA", scripts.Trial.SHA1, "1", name)
		if _, err := conn.Checked(m.ask(&b)); err != nil {
			return fmt.Errorf("trial of fencing: %w", inScript(err, "MGET, MSETNX, HSET, HGET, HMGET or HGETALL"))
		}
	}
	return m.tryNative(name, t)
}

// A refusal is the error of a master that is ruled out: only a change of the configuration, here or at the server, brings
// it back. The text says which.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// asRefusal returns err as a refusal if the server's words, or the TLS handshake, rule the master out. A connection that
// ends, a server that is full and one that loads its data may be back soon.
func asRefusal(err error) error {
	if err == nil {
		return nil
	}
	todo, text := "", err.Error()
	alert := (*net.OpError)(nil) // the server's, as crypto/tls returns it
	switch word := conn.FirstWord(err); {
	case errors.As(err, new(refusal)):
		return err
	case errors.As(err, new(*tls.CertificateVerificationError)):
		todo = "RootCAs must trust its authority, and Masters name it as its certificate does"
	case errors.As(err, &alert) && alert.Op == "remote error" && strings.Contains(text, "certificate"):
		todo = "Certificates needs one that the server accepts"
	case word == "WRONGPASS", word == "NOAUTH":
		todo = "set the right user and password"
	case word == "DENIED":
		todo = "set a password, or its protected-mode no"
	case conn.IsACL(err):
		todo = "grant the rights that engine/README.md lists"
	case conn.IsUnknownCommand(err):
		todo = "the engine needs the command: undo its rename-command"
	case strings.Contains(text, noDatabase):
		todo = "choose a database below the server's setting databases"
	case strings.Contains(text, "not allowed in cluster mode"): // SELECT
		todo = "name servers with cluster-enabled no"
	default:
		return err
	}
	return refusal{fmt.Errorf("%w (%s)", err, todo)}
}

// inScript returns err with the class of the same error outside a script if a script may not run one of the commands, or
// the server does not know it.
func inScript(err error, commands string) error {
	switch {
	case conn.IsForbidden(err) && conn.FirstWord(err) != "NOPERM":
		return resp.Error(fmt.Sprintf("NOPERM the user may not run %s in a script (%s)", commands, err))
	case conn.IsUnknownCommand(err) && conn.FirstWord(err) != "unknown":
		return resp.Error(fmt.Sprintf("unknown command in a script: %s (%s)", commands, err))
	}
	return err
}

// admit opens the gate: from now on rounds are sent to the master and its answers count. It is
// asked for acquires once it votes. Releases that became pending since the probe go first.
func (m *master) admit() error {
	for {
		again, err := m.tryAdmit()
		if err != nil || !again {
			return err
		}
		if err := m.sendAllPending(); err != nil {
			return err
		}
	}
}

func (m *master) tryAdmit() (again bool, err error) {
	p := m.p
	p.mu.Lock()
	defer p.unlockAndWrite()
	for _, other := range p.masters { // our address may lead to another master's server by now
		if other.up && other.server.RunID == m.server.RunID {
			return false, fmt.Errorf("%w as %s (run_id %s)", errSameServer, other.address, m.server.RunID)
		}
	}
	now := time.Now()
	if m.pending.IsDue(now) {
		return true, nil
	}
	m.up, m.resting, m.cause = true, false, nil
	select {
	case <-m.wanted: // an old signal
	default:
	}
	m.admitted, m.checked, m.since = now, m.server.Asked, m.server.Asked
	m.pending.Admitted(now)
	m.pending.TakeIn()
	m.paceLocked()
	m.session.Overdue, m.session.Ctx = m.overdue, p.ctx
	p.up++
	m.nextLocked(now)
	p.formLocked()
	return false, nil
}
