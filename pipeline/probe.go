package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/token"
	"muxlock/scripts"
)

// ReservedPrefix starts the names of the keys that belong to the engine itself.
const ReservedPrefix = "__muxlock__:"

// ErrSameServer is returned when two of the configured addresses reach one server.
var ErrSameServer = errors.New("two addresses reach the same server")

// probeUntilAdmitted tries the master with growing, jittered pauses in between.
// It returns false when the pipeline closes.
func (m *master) probeUntilAdmitted() bool {
	const first, longest = 25 * time.Millisecond, 2 * time.Second
	pause := first
	for {
		wait := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-wait.C:
		case <-m.p.ctx.Done():
			wait.Stop()
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
		pause = min(2*pause, longest)
	}
}

// probe looks at the server behind a new connection and, if it is fit to vote,
// admits the master. In this order: who is it, the scripts, what it owes us, and a
// trial of what every call will do. Nothing else is sent before it is admitted.
func (m *master) probe(ctx context.Context) error {
	cmds := m.loadScripts([]rueidis.Completed{m.session.client.B().Info().Build()})
	m.replies = m.session.do(cmds, m.replies)
	text, err := m.replies[0].ToString()
	if err != nil {
		return err
	}
	info := parseInfo(text)
	switch {
	case info["run_id"] == "":
		return errors.New("INFO does not tell run_id")
	case info["loading"] != "" && info["loading"] != "0":
		return errors.New("LOADING its dataset")
	case info["role"] != "" && info["role"] != "master":
		return fmt.Errorf("is a %s, not a master", info["role"])
	case info["cluster_enabled"] == "1":
		return errors.New("runs in cluster mode, where names move between servers")
	}
	for i, s := range scripts.All() {
		switch sha, err := m.replies[1+i].ToString(); {
		case err != nil:
			return fmt.Errorf("SCRIPT LOAD %s: %w", s.Name, err)
		case sha != s.SHA1:
			return fmt.Errorf("SCRIPT LOAD %s: server computed another SHA-1", s.Name)
		}
	}
	if err := m.payDebts(time.Now()); err != nil {
		return err
	}
	if err := m.trial(); err != nil {
		return err
	}
	return m.admit(ctx, info["run_id"])
}

// trial takes and releases a lock of the engine's own, so that a server that
// answers but refuses writes (OOM, MISCONF, READONLY, an ACL) is not admitted.
func (m *master) trial() error {
	t := token.New()
	name := ReservedPrefix + "trial:" + t
	b := m.session.client.B()
	take, _ := fold(b, []Request{{Op: Acquire, Name: name, Token: t, TTL: time.Second}})
	giveBack, _ := fold(b, []Request{{Op: Release, Name: name, Token: t}})
	m.replies = m.session.do([]rueidis.Completed{take, giveBack}, m.replies)
	for _, reply := range m.replies {
		switch votes, fault, err := batchVotes(reply, 1); {
		case err != nil:
			return err
		case votes != "1":
			return fmt.Errorf("trial lock: %w", fault)
		}
	}
	return nil
}

// admit opens the gate: from now on rounds are sent to the master and its grants count.
func (m *master) admit(ctx context.Context, runID string) error {
	p := m.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.masters {
		if other != m && other.runID == runID {
			return fmt.Errorf("%w as %s (run_id %s)", ErrSameServer, other.address, runID)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.runID = runID
	m.up, m.cause = true, nil
	m.lastUse = time.Now()
	m.ledger.admitted(m.lastUse)
	p.up++
	p.idle++
	p.formLocked()
	return nil
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
