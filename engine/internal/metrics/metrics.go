// Package metrics says what engine.Stats and an Observer's durations are called as metrics, once
// for packages lockprom and lockotel.
package metrics

import (
	"errors"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"muxlock/engine"
	"muxlock/engine/internal/inside"
	"muxlock/pipeline"
)

// An Instrument is a metric as OpenTelemetry describes it.
type Instrument struct {
	Name   string
	Unit   string // s, or in braces what is counted
	Help   string
	Kind   Kind
	Labels []string
}

// Kind is how the values of an instrument behave.
type Kind int

const (
	Counter Kind = iota // it only grows
	UpDown              // a sum over masters or processes means something
	Gauge               // a sum means nothing
	Histogram
)

// Prometheus returns the name that OpenTelemetry's exporter for Prometheus gives the instrument.
func (i Instrument) Prometheus() string {
	name := strings.ReplaceAll(i.Name, ".", "_")
	if i.Unit == "s" {
		name += "_seconds"
	}
	if i.Kind == Counter {
		name += "_total"
	}
	return name
}

// part is one of the values that add up to a counter.
type part struct {
	result string
	n      uint64
}

// version is the version of this module in the program.
var version = sync.OnceValue(func() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(b.Deps, &b.Main) {
			if m.Path == "muxlock" && m.Version != "" {
				return m.Version
			}
		}
	}
	return "(devel)"
})

// A Source is what is exported of an engine.
type Source struct {
	engine.Stats
	ByWait, ByAcquires []engine.HotName
}

// StatsOf returns what an engine counts, and so many hot names. Of package groups, it leaves out what its groups count. Without
// an engine it returns one value of each instrument.
func StatsOf(locks *engine.Engine, hot int) (s Source) {
	one := map[string]map[string]uint64{"": {"": 0}}
	s.Stats = engine.Stats{LostBy: one, FailedBy: one, Masters: make([]engine.MasterStats, 1)}
	s.ByWait, s.ByAcquires = make([]engine.HotName, 1), make([]engine.HotName, 1)
	if locks != nil {
		s.Stats = inside.Of(locks).Own().(engine.Stats)
	}
	if locks != nil && hot > 0 {
		s.ByWait, s.ByAcquires = locks.HotNames()
	}
	s.ByWait, s.ByAcquires = s.ByWait[:max(0, min(hot, len(s.ByWait)))], s.ByAcquires[:max(0, min(hot, len(s.ByAcquires)))]
	return s
}

// Each calls put with every value of s, and the values of its labels.
func Each(s Source, put func(i Instrument, value float64, labels ...string)) {
	counter := func(name, unit, help string, n uint64) {
		put(Instrument{name, unit, help, Counter, nil}, float64(n))
	}
	counters := func(name, unit, help string, parts ...part) {
		for _, p := range parts {
			put(Instrument{name, unit, help, Counter, []string{"result"}}, float64(p.n), p.result)
		}
	}
	now := func(name, unit, help string, n int) {
		put(Instrument{name, unit, help, UpDown, nil}, float64(n))
	}
	put(Instrument{"muxlock.build_info", "{build}", "1, with the version of muxlock as a label.", Gauge, []string{"version"}}, 1, version())
	locks := func(kind string, acquired uint64, held int) {
		put(Instrument{"muxlock.acquired", "{lock}", "Locks given out.", Counter, []string{"kind"}}, float64(acquired), kind)
		put(Instrument{"muxlock.held", "{lock}", "Locks that are held; one that ran out counts until its name or handle is next used.", UpDown, []string{"kind"}}, float64(held), kind)
	}
	locks("exclusive", s.Acquired-s.AcquiredShared-s.AcquiredPermits, s.Held-s.HeldShared-s.HeldPermits)
	locks("shared", s.AcquiredShared, s.HeldShared)
	locks("permit", s.AcquiredPermits, s.HeldPermits)
	by := func(name, unit, help, label string, all map[string]map[string]uint64) {
		for kind, of := range all {
			for why, n := range of {
				put(Instrument{name, unit, help, Counter, []string{"kind", label}}, float64(n), kind, why)
			}
		}
	}
	by("muxlock.lost", "{lock}", "Locks lost while they were held, also those that their Release found gone: work may go on unprotected. Alert on it, but not on closed: the engine was.", "cause", s.LostBy)
	by("muxlock.failed_attempts", "{attempt}", "Attempts at a lock that failed. Alert on no_quorum.", "result", s.FailedBy)
	counter("muxlock.retries", "{attempt}", "Further attempts of an Acquire.", s.Retries)
	counter("muxlock.fences_raised", "{attempt}", "Attempts that needed a second round trip for their fencing token.", s.FencesRaised)
	counters("muxlock.releases", "{lock}", "Releases. not_confirmed: they go on being sent.",
		part{"confirmed", s.Released}, part{"handed_over", s.HandedOver},
		part{"not_held", s.NotHeld}, part{"not_confirmed", s.ReleasesUnconfirmed})
	counter("muxlock.passed_on", "{lock}", "Confirmed releases that gave the lock to another process in line.", s.PassedOn)
	counters("muxlock.renewals", "{lock}", "Renewals in the background. not_confirmed: they are tried again.",
		part{"confirmed", s.Renewed}, part{"not_confirmed", s.RenewalsFailed})
	now("muxlock.eroded", "{lock}", "Locks kept alive that a voting master lacks. Alert on it a minute after all vote.", s.Eroded)
	counter("muxlock.healed", "{time}", "Times that a master which lacked a lock was given it again.", s.Healed)
	now("muxlock.waiting", "{goroutine}", "Goroutines in line behind others of this process.", s.Waiting)
	counter("muxlock.tracer_panics", "{panic}", "Panics of the Tracer's functions.", s.TracerPanics)
	counter("muxlock.events_dropped", "{event}", "Events that Observer and Logger were too slow for.", s.EventsDropped)
	counter("muxlock.rounds", "{round}", "Batches formed; each is sent to all masters that are up.", s.Rounds)
	counter("muxlock.round_requests", "{request}", "Acquires, extends and releases in all batches.", s.Requests)
	put(Instrument{"muxlock.round_requests_max", "{request}", "Requests in the largest batch since the start.", Gauge, nil}, float64(s.LargestRound))
	now("muxlock.queued_requests", "{request}", "Requests that wait for a round.", s.Queued)
	counter("muxlock.overloaded", "{call}", "Acquires refused because the queue was full.", s.Overloaded)
	for _, m := range s.Masters {
		eachOf(m, put)
	}
	for _, n := range s.ByWait {
		put(Instrument{"muxlock.hot.waited", "s", "Time that callers of this process waited for the name in the last five to ten minutes, together.", Gauge, []string{"name"}}, n.Waited.Seconds(), inside.Shown(n.Name))
	}
	for _, n := range s.ByAcquires {
		put(Instrument{"muxlock.hot.acquired", "{lock}", "Locks of the name that this process acquired in the last five to ten minutes.", Gauge, []string{"name"}}, float64(n.Acquires), inside.Shown(n.Name))
	}
}

// eachOf is Each for a master.
func eachOf(m engine.MasterStats, put func(i Instrument, value float64, labels ...string)) {
	address := strings.ToValidUTF8(m.Address, "?") // the path of a socket may be anything
	value := func(kind Kind, name, unit, help string, v float64) {
		put(Instrument{"muxlock.master." + name, unit, help, kind, []string{"master"}}, v, address)
	}
	counter := func(name, unit, help string, n uint64) { value(Counter, name, unit, help, float64(n)) }
	now := func(name, unit, help string, n int) { value(UpDown, name, unit, help, float64(n)) }

	now("up", "{master}", "1: it is sent rounds.", oneIf(m.Up))
	// VotesFrom alone would not do: a member of another set does not vote, and has no time.
	now("votes", "{master}", "1: it is up and votes on new locks. Alert when the next failure would leave no quorum.", oneIf(m.Up && m.Cause == nil))
	now("needs_action", "{master}", "1: it does not vote until somebody acts: it is of another set, or too many members have lost their data. Alert on it.",
		oneIf(errors.Is(m.Cause, engine.ErrConfigMismatch) || errors.Is(m.Cause, pipeline.ErrMembersLost)))
	unix := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return float64(t.UnixMilli()) / 1000
	}
	value(Gauge, "votes_from_timestamp", "s", "Unix time at which it votes again after a restart; 0: it votes, or the time is not known.", unix(m.VotesFrom))
	value(Gauge, "since_timestamp", "s", "Unix time since when it is up, or away, and votes, or does not.", unix(m.Since))
	counter("set_aside", "{time}", "Times that it was set aside, for being silent or away.", m.SetAside)
	value(Gauge, "round_trip", "s", "Least time that it took lately to answer a few requests.", m.RoundTrip.Seconds())
	value(Gauge, "window", "{write}", "Writes that may be under way to it at once.", float64(m.Window))
	now("in_flight", "{request}", "Requests that it was sent and has not answered.", m.InFlight)
	now("backlog", "{request}", "Requests that wait to be sent to it.", m.Backlog)
	counter("behind", "{time}", "Times that it fell too far behind the others, and got no rounds until it had caught up.", m.Behind)
	now("pending_releases", "{release}", "Releases that it could not be sent or has not answered.", m.PendingReleases)
	counter("pending_deleted", "{key}", "Keys that pending releases found and deleted.", m.PendingDeleted)
	counter("releases_denied", "{release}", "Releases that its ACL forbids; their locks run out by themselves.", m.ReleasesDenied)
	counter("batches_refused", "{batch}", "MSETEX of many names that it refused because one was held; the names were asked for singly then.", m.BatchesRefused)
	now("tracking", "{master}", "1: it notifies of released names.", oneIf(m.Tracking))
	now("lines", "{master}", "1: processes stand in line there for a name.", oneIf(m.Lines))
	now("lines_refused", "{master}", "1: they cannot, and a release wakes all of them; muxlock doctor says why.", oneIf(m.NoLine != nil))
	counter("reads", "{name}", "Names that were read from it for those who wait for them.", m.Reads)
	counter("pushes", "{notification}", "Notifications of released names received from it.", m.Pushes)
}

func oneIf(fact bool) int {
	if fact {
		return 1
	}
	return 0
}
