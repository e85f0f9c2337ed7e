package pipeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/pending"
)

// A pendingBatch sends pending releases.
type pendingBatch struct {
	conn.Batch
	due    []*pending.Release
	lead   int  // replies of SCRIPT LOAD in front
	single bool // each release is a command of its own
}

// takePendingLocked takes out pending releases that are due; nil: none is.
func (m *master) takePendingLocked(now time.Time) *pendingBatch {
	due := m.pending.Take(now, conn.FoldMax)
	if len(due) == 0 {
		return nil
	}
	return newPendingBatch(due, false, false, m.dialect)
}

func newPendingBatch(due []*pending.Release, load, single bool, in conn.Dialect) *pendingBatch {
	b := &pendingBatch{due: due, single: single}
	if load {
		b.LoadScripts(false) // a missing script of fencing is loaded when it is called
		b.lead = b.Batch.Commands()
	}
	entries := make([]Request, len(due))
	for i, d := range due {
		entries[i] = Request{Op: Release, Name: d.Name, Token: d.Token, Shared: d.Shared}
		if single {
			b.Fold(entries[i:i+1], in)
		}
	}
	if !single {
		b.Fold(entries, in)
	}
	return b
}

// takeReplies notes the answers, and returns the batch to send next for the same releases; nil: none is needed.
func (b *pendingBatch) takeReplies(m *master, replies []resp.Reply) (again *pendingBatch, err error) {
	replies = replies[b.lead:]
	switch err := replies[0].Err(); {
	case b.single:
	case conn.IsNoScript(err) && b.lead == 0:
		return newPendingBatch(b.due, true, false, m.dialect), nil
	case conn.IsDenied(err), b.readersAreForbidden(replies[0]):
		return newPendingBatch(b.due, false, true, m.dialect), nil
	}
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	released, deleted, err := b.read(m, replies)
	if err != nil {
		m.pending.Unconfirmed(b.due)
		return nil, err
	}
	m.pending.Confirmed(released, time.Now())
	m.stats.PendingDeleted += deleted
	return nil, nil
}

// readersAreForbidden reports whether an ACL forbids the commands of readers. It need not allow them.
func (b *pendingBatch) readersAreForbidden(reply resp.Reply) bool {
	_, fault, _ := conn.BatchVotes(reply, len(b.due))
	return conn.IsForbidden(fault) && slices.ContainsFunc(b.due, func(r *pending.Release) bool { return r.Shared })
}

// read returns the releases that were answered, and how many of them found their key.
func (b *pendingBatch) read(m *master, replies []resp.Reply) (released []*pending.Release, deleted uint64, err error) {
	each := len(b.due) / len(replies)
	for i, reply := range replies {
		due := b.due[i*each:][:each]
		votes, fault, err := conn.BatchVotes(reply, each)
		fault = cmp.Or(err, fault)
		switch {
		case b.single && (conn.IsDenied(fault) || due[0].Shared && conn.IsForbidden(fault)):
			m.stats.ReleasesDenied++ // the ACL will never allow the release; the lease runs out
			continue
		case conn.IsUnfit(fault), !b.single && err != nil:
			return nil, 0, fault
		}
		deleted += uint64(strings.Count(votes, "1"))
		released = append(released, due...)
	}
	return released, deleted, nil
}

// sendPendingLocked sends pending releases that are due, up to conn.FoldMax at a time.
func (m *master) sendPendingLocked(now time.Time) {
	if m.sendingPending || m.behind {
		return
	}
	if next := m.takePendingLocked(now); next != nil {
		m.sendPendingBatchLocked(next, now)
	}
}

func (m *master) sendPendingBatchLocked(b *pendingBatch, now time.Time) {
	m.sendingPending = true
	m.sendLocked(&maintenance{
		Batch: b.Batch, requests: len(b.due), releases: b.due,
		lostLocked: func() { m.pending.Unconfirmed(b.due) },
		answered: func(replies []resp.Reply) error {
			again, err := b.takeReplies(m, replies)
			m.p.mu.Lock()
			defer m.p.mu.Unlock()
			m.sendingPending = false
			switch {
			case err != nil:
				return err
			case again != nil:
				m.sendPendingBatchLocked(again, time.Now())
			default:
				m.sendPendingLocked(time.Now())
			}
			return nil
		},
	}, now)
}

// sendAllPending sends all pending releases that are due, before the master is admitted.
func (m *master) sendAllPending() error {
	for {
		m.p.mu.Lock()
		next := m.takePendingLocked(time.Now())
		m.p.mu.Unlock()
		if next == nil {
			return nil
		}
		for next != nil {
			replies, err := m.ask(&next.Batch)
			if err != nil {
				m.p.mu.Lock()
				m.pending.Unconfirmed(next.due)
				m.p.mu.Unlock()
				return err
			}
			if next, err = next.takeReplies(m, replies); err != nil {
				return err
			}
		}
	}
}
