package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/internal/redisfake"
	"muxlock/internal/testing/faultconn"
)

// A kind of fault. begin and end run on the one goroutine of the faults, and do not block.
type kind struct {
	name    string
	allowed func(Shape) bool // nil: everywhere
	begin   func(*world, Fault)
	end     func(*world, Fault) // nil: it has none
	rolls   rolls
}

// rolls says what a kind is for in rolls.
type rolls uint8

const (
	nothing rolls = iota
	outage        // a master is away for longer than a ttl
	restart       // a master comes back without its data, or must prove that it has them
	leaving       // an engine is away
)

// faultKinds are all kinds. A fault is off where nobody guarantees anything against it:
//
//   - No master forgets beside strangers, or where masters are said to be durable. Redsync does not wait
//     after a restart, and neither does an engine that was told that its masters are durable.
//   - A flush, an old snapshot or another master's data are on only where all clients are fenced. Other
//     clients cannot see these faults for certain (README). Masters said to be durable never come up with
//     an old snapshot.
//   - With fencing, at most q-1 masters lose their registers at a time: to lose more needs
//     admin.SetUpOptions.Recover. forget counts them at the moment of the fault.
//   - A master's clock runs within Drift and may step back. It never steps forward: leases would end early.
var faultKinds = []kind{
	{name: "slow replies", begin: onLinks(func(l *link, f Fault) { l.Delay(l.delay + f.By) }), end: onLinks(func(l *link, _ Fault) { l.Delay(l.delay) })},
	{name: "slow requests", begin: onLinks(func(l *link, f Fault) { l.DelayRequests(l.delay + f.By) }), end: onLinks(func(l *link, _ Fault) { l.DelayRequests(l.delay) })},
	{name: "held replies", begin: onLinks(func(l *link, _ Fault) { l.HoldReplies(true) }), end: onLinks(func(l *link, _ Fault) { l.HoldReplies(false) })},
	{name: "black hole", rolls: outage, begin: onLinks(func(l *link, _ Fault) { l.BlackHole(true) }), end: onLinks(func(l *link, _ Fault) { l.BlackHole(false) })},
	{name: "pause", rolls: leaving, begin: ofOne(func(l *link, _ Fault) { l.BlackHole(true) }), end: ofOne(func(l *link, _ Fault) { l.BlackHole(false) })},
	{name: "cut requests", begin: onLinks(func(l *link, f Fault) { l.CutRequestsAfter(f.Bytes) })},
	{name: "cut replies", begin: onLinks(func(l *link, f Fault) { l.CutRepliesAfter(f.Bytes) })},
	{name: "cut", begin: onLinks(func(l *link, _ Fault) { l.Cut() })},
	{name: "late bytes", begin: onLinks(func(l *link, _ Fault) { l.Strand(late) })},
	{name: "down", rolls: outage, begin: onMasters(func(_ *world, m *redisfake.Server, _ Fault) { m.Down() }), end: onMasters(func(_ *world, m *redisfake.Server, _ Fault) { m.Up() })},
	{name: "clock back", begin: onMasters(func(w *world, m *redisfake.Server, f Fault) { m.Clock(-f.For, w.fasterOf(m)) })},
	{name: "overload", begin: (*world).overload},
	{name: "engine crash", rolls: leaving, begin: (*world).crash},
	{
		name: "restart kept", rolls: restart, begin: onMasters(func(_ *world, m *redisfake.Server, _ Fault) { m.Down() }),
		end: forget(func(_ *world, m *redisfake.Server, _ Fault) { m.RestartDurable() }, (*redisfake.Server).Up),
	},
	{
		name: "restart empty", rolls: restart, allowed: func(p Shape) bool { return !p.Durable },
		begin: onMasters(func(_ *world, m *redisfake.Server, _ Fault) { m.Down() }),
		end:   forget(func(_ *world, m *redisfake.Server, _ Fault) { m.RestartWith(nil) }, (*redisfake.Server).Up),
	},
	{
		name: "rollback", rolls: restart, allowed: func(p Shape) bool { return p.allFenced() && !p.Durable },
		begin: onMasters(func(w *world, m *redisfake.Server, _ Fault) { w.snapshots[m] = m.Snapshot() }),
		end:   forget(func(w *world, m *redisfake.Server, _ Fault) { m.RestartWith(w.snapshots[m]) }, nil),
	},
	{name: "flush", rolls: restart, allowed: Shape.allFenced, begin: forget(func(_ *world, m *redisfake.Server, _ Fault) { m.Flush() }, nil)},
	{
		name: "replica", rolls: restart, allowed: Shape.allFenced,
		begin: forget(func(w *world, m *redisfake.Server, f Fault) { w.copyOther(m, f) }, nil),
		end:   onMasters(func(_ *world, m *redisfake.Server, _ Fault) { m.Promote() }),
	},
	{
		name: "copy", allowed: Shape.allFenced, // of a master that has missed requests, before anybody looks
		begin: func(w *world, f Fault) { w.missing(f, true) },
		end: func(w *world, f Fault) {
			w.missing(f, false)
			forget(func(w *world, m *redisfake.Server, f Fault) {
				w.copyOther(m, f)
				m.Promote()
			}, nil)(w, f)
		},
	},
}

// copyOther gives a master the data of the fault's other master.
func (w *world) copyOther(m *redisfake.Server, f Fault) {
	if other := w.masters[f.Other]; other != m {
		m.ReplicaOf(other)
		w.copied[m] = m.Value(markKey)
	}
}

// missing keeps the fault's other master from engines, or gives it back.
func (w *world) missing(f Fault, away bool) {
	f.Master = f.Other
	onLinks(func(l *link, _ Fault) { l.BlackHole(away) })(w, f)
}

// late is how long bytes still travel after their connection died: less than the dead-peer time.
const late = 900 * time.Millisecond

// onLinks applies a change to the links of a fault.
func onLinks(change func(*link, Fault)) func(*world, Fault) {
	return func(w *world, f Fault) {
		for i, s := range w.slots {
			for j, l := range s.links() {
				if (f.Engine < 0 || f.Engine == i) && (f.Master < 0 || f.Master == j) {
					change(l, f)
				}
			}
		}
	}
}

// ofOne applies a change to all links of one engine.
func ofOne(change func(*link, Fault)) func(*world, Fault) {
	return func(w *world, f Fault) {
		f.Engine, f.Master = max(f.Engine, 0), -1
		onLinks(change)(w, f)
	}
}

// onMasters applies a change to the masters of a fault.
func onMasters(change func(*world, *redisfake.Server, Fault)) func(*world, Fault) {
	return func(w *world, f Fault) {
		for i, m := range w.masters {
			if f.Master < 0 || f.Master == i {
				change(w, m, f)
			}
		}
	}
}

// forget is onMasters for a change that costs a master its place in a set. If too many masters would be without
// a place, forget does instead, or nothing if that is nil.
func forget(change func(*world, *redisfake.Server, Fault), instead func(*redisfake.Server)) func(*world, Fault) {
	return onMasters(func(w *world, m *redisfake.Server, f Fault) {
		without := 0
		for _, other := range w.masters {
			if other != m && !w.admitted(other) {
				without++
			}
		}
		switch {
		case !w.s.Shape.anyFenced() || without < quorum.Size(len(w.masters))-1:
			change(w, m, f)
		case instead != nil:
			instead(m)
		}
	})
}

const markKey = "__muxlock__:admitted"

// admitted reports whether a master's present process is a member of a set. A master that got its own data back from another
// master shows its mark, and is no member.
func (w *world) admitted(m *redisfake.Server) bool {
	mark := m.Value(markKey)
	return fencing.ParseMark(mark).RunID == m.RunID() && mark != w.copied[m]
}

// leaveBareMajority takes a minority down, unless fencing needs it: some of the other masters are no members then.
func (w *world) leaveBareMajority(r *rand.Rand) {
	order := r.Perm(len(w.masters))
	away, others := order[quorum.Size(len(order)):], order[:quorum.Size(len(order))]
	if w.s.Shape.anyFenced() && slices.ContainsFunc(others, func(i int) bool { return !w.admitted(w.masters[i]) }) {
		return
	}
	for _, i := range away {
		w.masters[i].Down()
	}
}

// A link is the way from an engine to a master.
type link struct {
	*faultconn.Link
	delay time.Duration
}

// heal ends every fault.
func (w *world) heal() {
	for _, m := range w.masters {
		m.Up()
		m.Promote()
	}
	for _, s := range w.slots {
		for _, l := range s.links() {
			l.BlackHole(false)
			l.HoldReplies(false)
			l.Delay(l.delay)
			l.DelayRequests(l.delay)
			l.CutRepliesAfter(-1)
			l.CutRequestsAfter(-1)
		}
	}
}

// kind returns the kind of a fault.
func (f Fault) kind() kind {
	return faultKinds[slices.IndexFunc(faultKinds, func(k kind) bool { return k.name == f.Kind })]
}

// An event is the begin or end of a fault.
type event struct {
	at    time.Duration
	fault Fault
	do    func(*world, Fault)
}

// events returns what the goroutine of the faults does in an act, in order.
func (s Schedule) events(act int) (all []event) {
	for _, f := range s.Faults {
		if f.Act != act {
			continue
		}
		k := f.kind()
		all = append(all, event{f.At, f, k.begin})
		if k.end != nil {
			all = append(all, event{min(f.At+f.For, s.Shape.Span), f, k.end})
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return int(a.at - b.at) })
	return all
}
