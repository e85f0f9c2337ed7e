package engine

import (
	"maps"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// This file heals leases. An extend never sets a key. So a master that was restarted empty, or was away for longer than
// the ttl, would never have the lock again, and a lock that is held for long would wear off. After an extend, the lease is
// acquired again at the masters that vote and answered that they do not have it:
//
//	extend --all have it--> nothing more
//	   ^ '-some answered "gone"--> heal --granted--> the next extend counts them
//	   |                            ^ '-refused: somebody has the key--> again after firstHealRetry, twice that, ...
//	   '--- a master votes again    '--------------------------------------'
//
// A heal is the lease's own acquire, with its token. It is no vote, and moves no validity. It takes a free key of a master that
// votes: by then every lease which that master forgot has run out. It is sent only while the lease is valid and no other process
// knows its token. The pipeline sends none behind the lease's release.

const (
	firstHealRetry  = 20 * time.Millisecond
	mostHealRetries = 4 // then the next renewal finds out
	// votesPeriod is how often the keeper looks whether a master votes again, while a lease lacks one.
	votesPeriod = 25 * time.Millisecond
	// Leases are renewed soon after a master votes again: within leastSpread to mostSpread, by their number.
	leastSpread, mostSpread = 30 * time.Millisecond, time.Second
	spreadEach              = 50 * time.Microsecond
	// healFrom is the part of its ttl from which on a lease is healed: most leases end before.
	healFrom = 4
)

// An erosion is a lease that some masters lack, and its heal. The keeper's mutex guards it where it says so; the rest is owned
// by keeper.run.
type erosion struct {
	l     *lease        // fixed
	over  atomic.Bool   // the lease has ended, or all masters have it
	lacks uint64        // the masters that are not known to have it, one bit each; guarded by keeper.mu
	kept  bool          // the lease is kept alive; guarded by keeper.mu
	bare  bool          // it rests on a bare quorum, and the log says so
	gone  uint64        // the masters to be healed; 0: none, or a heal is under way
	at    clock.Instant // when
	tries int           // heals that were refused since the last extend
	busy  bool          // a heal is under way
	soon  clock.Instant // when to renew the lease, since a master votes again; zero: as usual
}

// A count is the end of an extend, or of the heal x: the masters that granted it, and those that refused, one bit each.
type count struct {
	l             *lease
	x             *erosion
	granted, gone uint64
}

func (l *lease) Over() bool { return false } // no extend is dropped

// Counted notes how many masters have the lease. While all do, there is nothing more to do.
func (l *lease) Counted(granted, gone uint64) {
	n, all := int32(bits.OnesCount64(granted)), int32(l.e.masters.number)
	if before := l.heldOn.Swap(n); before != all || n != all {
		l.e.keeper.answer(answer{count: &count{l: l, granted: granted, gone: gone}})
	}
}

func (x *erosion) Decided(pipeline.Outcome) {}
func (x *erosion) Over() bool               { return x.over.Load() }
func (x *erosion) Counted(granted, gone uint64) {
	x.l.e.keeper.answer(answer{count: &count{l: x.l, x: x, granted: granted, gone: gone}})
}

// takeCount goes on after an extend or a heal.
func (k *keeper) takeCount(c count, now clock.Instant) {
	l := c.l
	l.state.shard.mu.Lock()
	l.expireLocked(now)
	undo := c.x != nil && c.granted != 0 && l.expired // nobody else releases what the heal has set
	x := k.erosionLocked(c)
	if c.x != nil && c.granted != 0 && (l.renewal.fault != nil || l.isKnown()) {
		l.renewal.hasten(now) // with the healed masters it may have a quorum; or another process has released it meanwhile
	}
	switch {
	case x == nil:
	case c.x == nil:
		x.soon = l.renewal.hasten(x.soon)
		if !x.busy && now.Sub(l.term.Since) >= l.renewal.ttl/healFrom {
			x.gone, x.at, x.tries = c.gone, now, 0
		}
	default:
		if x.busy = false; c.gone != 0 && x.tries < mostHealRetries {
			pause := firstHealRetry << x.tries
			x.gone, x.at = c.gone, now.Add(redlock.Jitter(pause/2, pause/2*3, fastrand.Uint32n))
			x.tries++
		}
	}
	if x != nil && x.gone != 0 {
		k.schedule(l, x.at)
	}
	l.scheduleLocked(now)
	var req pipeline.Request
	if undo {
		req = l.releaseLocked()
	}
	l.state.shard.unlock()
	if undo {
		l.e.masters.undo(req)
	}
}

// erosionLocked notes which masters lack the lease after an extend or a heal; nil: none, or the lease is over. The caller holds the
// shard's mutex.
func (k *keeper) erosionLocked(c count) *erosion {
	l, all := c.l, uint64(1)<<c.l.e.masters.number-1
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.eroded[l]
	switch {
	case c.x != nil:
		k.e.record.counts.healed.Add(uint64(bits.OnesCount64(c.granted)))
		if x != c.x {
			return nil
		}
		x.lacks &^= c.granted
		l.heldOn.Store(int32(bits.OnesCount64(all &^ x.lacks)))
	case l.term.Ended:
		return nil
	case x == nil:
		x = &erosion{l: l, lacks: all &^ c.granted}
	default:
		x.lacks = all &^ c.granted
	}
	x.kept, k.eroded[l] = l.renewal.kept, x
	n := bits.OnesCount64(all &^ x.lacks)
	if least := quorum.Size(l.e.masters.number); n >= least && (x.kept && n == least) != x.bare {
		x.bare = !x.bare
		l.e.record.rests(l, x.bare, n)
	}
	if x.lacks == 0 {
		k.healedLocked(l)
		return nil
	}
	return x
}

// healedLocked ends the heals of a lease that has ended, or that all masters have. The caller holds keeper.mu.
func (k *keeper) healedLocked(l *lease) {
	if x := k.eroded[l]; x != nil {
		x.over.Store(true)
		delete(k.eroded, l)
	}
}

// healAt takes the heal of a lease if it is due. Else it returns when that is, or again if that is sooner.
func (k *keeper) healAt(l *lease, now, again clock.Instant) clock.Instant {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch x := k.eroded[l]; {
	case x == nil || x.gone == 0:
	case x.at.Reached(now):
		x.busy = true
		k.heals = append(k.heals, x)
	case x.at.Before(again):
		return x.at
	}
	return again
}

// erodedNow returns how many kept leases a voting master lacks.
func (k *keeper) erodedNow() (n int) {
	k.mu.Lock()
	lacks := make(map[string]uint64)
	for l, x := range k.eroded {
		if x.kept {
			lacks[l.name] |= x.lacks
		}
	}
	k.mu.Unlock()
	votes := make(map[pipe]uint64)
	for name, lacks := range lacks {
		at := k.e.masters.at(name)
		if _, known := votes[at]; !known {
			for i, m := range at.Stats().Masters {
				if m.Cause == nil {
					votes[at] |= 1 << i
				}
			}
		}
		if votes[at]&lacks != 0 {
			n++
		}
	}
	return n
}

// sendHeals sends the heals that are due.
func (k *keeper) sendHeals() {
	for i, x := range k.heals {
		k.heals[i] = nil
		l := x.l
		l.state.shard.mu.Lock()
		req := pipeline.Request{
			Op: pipeline.Acquire, Heal: true, Among: x.gone, Contended: true,
			Name: l.name, Token: l.token, TTL: l.renewal.ttl, Fence: l.fencing, Shared: kinds[l.kind].Shared,
		}
		x.gone = 0
		send := !l.term.Ended && !l.isKnown()
		l.healed = l.healed || send
		l.state.shard.unlock()
		if !send || k.e.masters.at(req.Name).Start(req, x) != nil {
			x.busy = false
		}
	}
	k.heals = k.heals[:0]
}

// checkVotes has eroded leases renewed soon if a master votes that did not vote before.
func (k *keeper) checkVotes(now clock.Instant) {
	votes := k.e.masters.pipe.Voted()
	if votes == k.votes {
		return
	}
	k.votes = votes
	k.mu.Lock()
	eroded := slices.Collect(maps.Values(k.eroded))
	k.mu.Unlock()
	spread := min(max(time.Duration(len(eroded))*spreadEach, leastSpread), mostSpread)
	for _, x := range eroded {
		l := x.l
		l.state.shard.mu.Lock()
		if l.renewal.kept && !l.term.Ended {
			x.soon = l.renewal.hasten(now.Add(redlock.Jitter(0, min(spread, l.renewal.ttl/6), fastrand.Uint32n)))
			l.scheduleLocked(now)
		}
		l.state.shard.unlock()
	}
}
