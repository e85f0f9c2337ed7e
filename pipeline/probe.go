package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/internal/resp"
	"muxlock/internal/serverinfo"
	"muxlock/internal/token"
	"muxlock/scripts"
)

// ReservedPrefix starts the names of the keys that belong to the engine itself.
const ReservedPrefix = "__muxlock__:"

// ErrSameServer is returned when two of the configured addresses reach one server.
var errSameServer = errors.New("two addresses reach the same server")

// The pause before a dial, drawn from half to one and a half times: it doubles from
// firstPause to longestPause, and starts over once the master has been up that long,
// so that one that comes and goes is not dialled each time.
const (
	firstPause   = redlock.FirstRedial
	longestPause = redlock.LongestRedial
)

// probeUntilAdmitted tries the master with pauses in between. It returns false when
// the pipeline closes.
func (m *master) probeUntilAdmitted() bool {
	if m.pause == 0 || time.Since(m.admitted) > longestPause {
		m.pause = firstPause
	}
	m.waitWhileIdle()
	for {
		if !sleepGrowing(m.p.ctx, &m.pause) {
			return false
		}
		err := m.dialAndAdmit(m.p.ctx)
		if err == nil {
			return true
		}
		if m.p.ctx.Err() != nil {
			return false
		}
		m.p.mu.Lock()
		m.cause = err
		m.p.mu.Unlock()
	}
}

// waitWhileIdle waits before the first dial for up to longestPause, drawn from 0, if no round was
// formed for that long, and until one is. So the processes of a fleet, most of which are idle, do
// not all dial at once when a restart of the master ends their connections: an admission costs the
// master 0.4 ms.
func (m *master) waitWhileIdle() {
	m.p.mu.Lock()
	idle := time.Since(m.p.formed) > longestPause
	m.p.mu.Unlock()
	if !idle {
		return
	}
	select {
	case <-m.wanted: // of before
	default:
	}
	wait := time.NewTimer(redlock.Jitter(0, longestPause, fastrand.Uint32n))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-m.wanted:
	case <-m.p.ctx.Done():
	}
}

// sleepGrowing sleeps for a pause and doubles it. It returns false when ctx ends.
func sleepGrowing(ctx context.Context, pause *time.Duration) bool {
	from, to := redlock.RedialDelay(*pause)
	wait := time.NewTimer(redlock.Jitter(from, to, fastrand.Uint32n))
	defer wait.Stop()
	*pause = min(2**pause, longestPause)
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// probe checks whether the server behind a new connection is fit to vote. In this order: its
// identity, the scripts, the pending releases, and a trial of what every call does. Nothing
// else is sent before it is admitted.
func (m *master) probe() error {
	var first batch
	first.begin(1)
	first.add("INFO")
	first.loadScripts(m.p.fencing)
	asked := time.Now()
	replies, err := m.ask(&first)
	if err == nil {
		err = replies[0].Err()
	}
	if err != nil {
		return err
	}
	info := serverinfo.Parse(replies[0].Text)
	switch {
	case info.RunID() == "":
		return errors.New("INFO has no run_id")
	case info.Loading():
		return errors.New("LOADING its dataset")
	case info.Cluster():
		return errors.New("runs in cluster mode, where names move between servers")
	case m.p.fencing && info.Evicts():
		return errors.New("evicts keys, those of fencing too: maxmemory-policy must be noeviction")
	}
	if err := m.note(info, asked); err != nil {
		return err
	}
	for i, s := range scripts.All(m.p.fencing) {
		switch reply := replies[1+i]; {
		case reply.Err() != nil:
			return fmt.Errorf("SCRIPT LOAD %s: %w", s.Name, reply.Err())
		case reply.Text != s.SHA1:
			return fmt.Errorf("SCRIPT LOAD %s: server computed another SHA-1", s.Name)
		}
	}
	if m.p.fencing {
		replies, err := m.ask(&newLooking().batch)
		if err != nil {
			return err
		}
		found, err := readLook(replies)
		if err != nil {
			return err
		}
		m.p.mu.Lock()
		m.metLocked(found)
		m.p.mu.Unlock()
	}
	if err := m.sendAllPending(); err != nil {
		return err
	}
	if err := m.trial(); err != nil {
		return err
	}
	return m.measure()
}

// measure asks for next to nothing, a few times, so that the pace knows how far away the
// master is before it is under load. Where so few acquires may wait that there is no load, it
// costs three round trips for nothing: the first small writes tell the same.
func (m *master) measure() error {
	if m.p.limit < foldFrom {
		return nil
	}
	for range 3 {
		e := newCheck(time.Now(), true)
		replies, err := m.ask(&e.batch)
		if err == nil {
			err = e.answered(m, replies)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ask sends a batch before anything else is under way, and returns the replies. It is also
// how the pace gets to know how far away the master is.
func (m *master) ask(b *batch) (replies []resp.Reply, err error) {
	start := time.Now()
	m.replies, err = m.session.ask(b, m.replies)
	if err == nil {
		now := time.Now()
		m.p.mu.Lock()
		m.pace.noteBase(now.Sub(start), now)
		m.p.mu.Unlock()
	}
	return m.replies, err
}

// note passes what INFO returned to the master's admission, and returns why the connection
// must end, if it must.
func (m *master) note(info serverinfo.Info, asked time.Time) (err error) {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	last := m.admission
	m.admission, err = m.admission.check(info, asked, time.Now())
	if m.admission.swaps != last.swaps {
		m.member.admission.Lost()
	}
	if m.admission.runID != last.runID {
		m.triedInVain = false
	}
	return err
}

// trial takes, extends and releases a lock of the engine's own, and calls every script,
// so that a server that answers but refuses (OOM, MISCONF, READONLY, an ACL without a
// command that the scripts need) is not admitted.
func (m *master) trial() error {
	t := token.New()
	name := ReservedPrefix + "trial:" + t
	var calls batch
	calls.plain(&Request{Op: Acquire, Name: name, Token: t, TTL: time.Second}, 0)
	calls.plain(&Request{Op: Extend, Name: name, Token: t, TTL: 2 * time.Second}, 0)
	calls.plain(&Request{Op: Release, Name: name, Token: t}, 0)
	calls.fold([]Request{{Op: Release, Name: name, Token: t}})
	replies, err := m.ask(&calls)
	if err != nil {
		return err
	}
	for i, commands := range []string{"SET", "GET, PTTL or PEXPIRE", "GET or DEL"} {
		op, vote := Op(i), quorum.Unknown
		if vote, err = plainVote(op, replies[i]); err == nil && vote != quorum.Granted {
			err = errUnexpected
		}
		if err != nil {
			return fmt.Errorf("trial lock: %w", deniedInScript(err, commands))
		}
	}
	if _, _, err = batchVotes(replies[3], 1); err != nil {
		return fmt.Errorf("trial lock: %w", err)
	}
	if m.p.fencing {
		if err := m.trialOfFencing(name); err != nil {
			return err
		}
	}
	return m.tryNative(name, t)
}

// trialOfFencing calls what the scripts of fencing do, on a key of its own.
func (m *master) trialOfFencing(key string) error {
	var b batch
	b.begin(4)
	b.add("EVALSHA", scripts.Trial.SHA1, "1", key)
	replies, err := m.ask(&b)
	if err == nil {
		err = replies[0].Err()
	}
	if err != nil {
		return fmt.Errorf("trial of fencing: %w", deniedInScript(err, "MGET, MSETNX, HSET, HGET, HMGET or HGETALL"))
	}
	return nil
}

// deniedInScript gives the class of its own to the error of a script that may not use one
// of the commands.
func deniedInScript(err error, commands string) error {
	if isForbidden(err) && firstWord(err) != "NOPERM" {
		return resp.Error(fmt.Sprintf("NOPERM the user may not run %s in a script (%s)", commands, err))
	}
	return err
}

// admit opens the gate: from now on rounds are sent to the master and its answers
// count; acquires only once its admission lets it vote. Releases that have become pending
// since the probe are sent first.
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
	defer p.unlock()
	for _, other := range p.masters { // the server of one that is away may be behind our address by now
		if other.up && other.admission.runID == m.admission.runID {
			return false, fmt.Errorf("%w as %s (run_id %s)", errSameServer, other.address, m.admission.runID)
		}
	}
	now := time.Now()
	if m.pending.isDue(now) {
		return true, nil
	}
	m.up, m.cause = true, nil
	m.admitted, m.checked = now, m.admission.asked
	m.pending.admitted(now)
	m.paceLocked()
	m.session.overdue, m.session.ctx = m.overdue, p.ctx
	p.up++
	m.nextLocked(now)
	p.formLocked()
	return false, nil
}
