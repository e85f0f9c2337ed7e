package engine

import (
	"slices"

	"muxlock/engine/internal/inside"
	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/limits"
)

// mostLosses is how many losses are kept.
const mostLosses = 32

// snapshot has at most most leases and names, for package lockdebug. It locks one shard after the other.
func (e *Engine) snapshot(most int) inside.Snapshot {
	all := inside.Snapshot{Held: []inside.Held{}, Waited: []inside.Waited{}, Lost: []inside.Lost{}} // JSON has them also if they are empty
	for i := range e.names.shards {
		s := &e.names.shards[i]
		s.mu.Lock()
		now := clock.Now()
		for _, n := range s.states {
			e.showLocked(&all, n, most, now)
		}
		s.unlock()
	}
	last := e.record.lastLoss.Load()
	for i := range uint64(mostLosses) {
		if l := e.record.losses[(last-i)%mostLosses].Load(); l != nil {
			all.Lost = append(all.Lost, *l)
		}
	}
	return all
}

func (e *Engine) showLocked(all *inside.Snapshot, n *nameState, most int, now clock.Instant) {
	for _, l := range append(slices.Clone(n.Apart), n.Lease) {
		if l == nil || len(l.holders) == 0 || l.term.Ended {
			continue
		}
		if all.HeldAll++; len(all.Held) < most {
			all.Held = append(all.Held, l.shownLocked(now))
		}
	}
	var longest asker
	if n.Asks {
		longest = n.asker
	}
	waited := inside.Waited{Asks: n.Asks, Here: n.Lease != nil}
	for w := range n.Waiting {
		if w.Of.stop == nil { // else it asks
			waited.Waiting++
		}
		if longest.since.IsZero() || w.Since.Before(longest.since) {
			longest = asker{w.Since, w.Of.kind}
		}
	}
	if longest.since.IsZero() {
		return
	}
	if all.WaitAll++; len(all.Waited) == most {
		return
	}
	_, of := inside.SlotOf(n.name)
	for slot := 0; of != n.name && slot < limits.Permits; slot++ { // it is the queue for permits
		q := n.shard.states[inside.SlotKey(slot, of)]
		waited.Here = waited.Here || q != nil && q.Lease != nil
	}
	waited.Name, waited.Kind, waited.Since = inside.Shown(e.cfg.nameOf(n.name)), kinds[longest.kind].name, longest.since.Time(now)
	all.Waited = append(all.Waited, waited)
}

func (l *lease) shownLocked(now clock.Instant) inside.Held {
	since := l.holders[0].since
	if since.IsZero() { // it is on its way
		since = now
	}
	slot, _ := inside.SlotOf(l.name)
	return inside.Held{
		Name: inside.Shown(l.e.cfg.nameOf(l.name)), Kind: kinds[l.kind].name, Slot: slot, Holders: len(l.holders), Since: since.Time(now), Until: l.renewal.until.Time(now), KeptAlive: l.renewal.kept,
		HeldOn: int(l.heldOn.Load()), Masters: l.e.masters.number, Fence: fencing.Fence(l.fencing, int(l.term.HandOvers)), HandOvers: int(l.term.HandOvers),
	}
}
