package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"muxlock/internal/quorum"
	"muxlock/internal/token"
	"muxlock/scripts"
)

// ReservedPrefix starts the names of the keys that belong to the engine itself.
const ReservedPrefix = "__muxlock__:"

// ErrSameServer is returned when two of the configured addresses reach one server.
var ErrSameServer = errors.New("two addresses reach the same server")

// The pause before a dial, drawn from half to one and a half times: it doubles from
// firstPause to longestPause, and starts over once the master has been up that long,
// so that one that comes and goes is not dialled at every turn.
const (
	firstPause   = 25 * time.Millisecond
	longestPause = 2 * time.Second
)

// probeUntilAdmitted tries the master with pauses in between. It returns false when
// the pipeline closes.
func (m *master) probeUntilAdmitted() bool {
	if m.pause == 0 || time.Since(m.admitted) > longestPause {
		m.pause = firstPause
	}
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

// sleepGrowing sleeps for a pause and doubles it. It returns false when ctx ends.
func sleepGrowing(ctx context.Context, pause *time.Duration) bool {
	wait := time.NewTimer(*pause/2 + rand.N(*pause))
	defer wait.Stop()
	*pause = min(2**pause, longestPause)
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// probe looks at the server behind a new connection and says whether it is fit to
// vote. In this order: who is it, the scripts, what it owes us, and a trial of what
// every call will do. Nothing else is sent before it is admitted.
func (m *master) probe() error {
	var first batch
	first.begin(1)
	first.add("INFO")
	first.loadScripts()
	asked := time.Now()
	replies := m.ask(&first)
	text, err := replies[0].ToString()
	if err != nil {
		return err
	}
	info := parseInfo(text)
	switch {
	case info["run_id"] == "":
		return errors.New("INFO does not tell run_id")
	case info["loading"] != "" && info["loading"] != "0":
		return errors.New("LOADING its dataset")
	case info["cluster_enabled"] == "1":
		return errors.New("runs in cluster mode, where names move between servers")
	}
	if err := m.note(info, asked); err != nil {
		return err
	}
	for i, s := range scripts.All() {
		switch sha, err := replies[1+i].ToString(); {
		case err != nil:
			return fmt.Errorf("SCRIPT LOAD %s: %w", s.Name, err)
		case sha != s.SHA1:
			return fmt.Errorf("SCRIPT LOAD %s: server computed another SHA-1", s.Name)
		}
	}
	if err := m.payDebts(); err != nil {
		return err
	}
	return m.trial()
}

// check asks the server of an admitted connection whether it still is a master and has
// the data that it had. It comes with every tick, busy or idle (1 us of the server's
// time; all of INFO takes 9), and tries out the connection as well, so that one that was
// cut is replaced before a caller meets it.
func (m *master) check() error {
	var ask batch
	ask.begin(2)
	ask.add("INFO", "replication")
	asked := time.Now()
	text, err := m.ask(&ask)[0].ToString()
	if err != nil {
		return err
	}
	return m.note(parseInfo(text), asked)
}

// note puts what the server has said of itself into the master's admission, and returns
// what speaks against going on with the connection.
func (m *master) note(info map[string]string, asked time.Time) (err error) {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.admission, err = m.admission.check(info, asked, time.Now())
	return err
}

// trial takes, extends and releases a lock of the engine's own, by all three scripts,
// so that a server that answers but refuses (OOM, MISCONF, READONLY, an ACL without a
// command that the scripts need) is not admitted.
func (m *master) trial() error {
	t := token.New()
	name := ReservedPrefix + "trial:" + t
	q := Request{Op: Acquire, Name: name, Token: t, TTL: time.Second}
	var calls batch
	calls.fold([]Request{q})
	q.Op, q.TTL = Extend, 2*time.Second
	calls.plain(&q)
	q.Op = Release
	calls.plain(&q)
	replies := m.ask(&calls)
	votes, fault, err := batchVotes(replies[0], 1)
	if err == nil && votes != "1" {
		err = fault
	}
	commands := []string{"SET", "GET, PTTL or PEXPIRE", "GET or DEL"}
	i := 0
	for err == nil && i+1 < len(replies) {
		i++
		var vote quorum.Vote
		if vote, err = plainVote(Release, replies[i]); err == nil && vote != quorum.Granted {
			err = errOdd
		}
	}
	if err != nil {
		return fmt.Errorf("trial lock: %w", deniedInScript(err, commands[i]))
	}
	return nil
}

// deniedInScript gives the class of its own to the error of a script that may not use one
// of the commands. Redis, to 7.0 and from 7.2 on, says it within an ERR.
func deniedInScript(err error, commands string) error {
	text := err.Error()
	if strings.Contains(text, "The user executing the script can't run") || strings.Contains(text, "ACL failure in script") {
		return serverError(fmt.Sprintf("NOPERM the user may not run %s in a script (%s)", commands, text))
	}
	return err
}

// admit opens the gate: from now on rounds are sent to the master and its answers
// count; acquires only once its admission lets it vote. What has come to be owed since the probe is paid first.
func (m *master) admit() error {
	for {
		again, err := m.tryAdmit()
		if err != nil || !again {
			return err
		}
		if err := m.payDebts(); err != nil {
			return err
		}
	}
}

func (m *master) tryAdmit() (again bool, err error) {
	p := m.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.masters { // what one was that is away may be behind our address by now
		if other.up && other.admission.runID == m.admission.runID {
			return false, fmt.Errorf("%w as %s (run_id %s)", ErrSameServer, other.address, m.admission.runID)
		}
	}
	now := time.Now()
	if m.ledger.isDue(now) {
		return true, nil
	}
	m.up, m.cause = true, nil
	m.admitted = now
	m.ledger.admitted(now)
	p.up++
	p.idle++
	p.formLocked()
	return false, nil
}

// uptime returns how long a server says that it has been up; 0 if it does not say.
func uptime(info map[string]string) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	seconds, _ := strconv.ParseInt(info["uptime_in_seconds"], 10, 64) // 0, or the nearest, if it fails
	return time.Duration(min(max(seconds, 0), most)) * time.Second
}

func parseInfo(text string) map[string]string {
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[key] = value
		}
	}
	return info
}
