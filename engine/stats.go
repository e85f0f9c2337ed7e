package engine

import (
	"errors"
	"sync/atomic"
	"time"

	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// Stats are counters since New, and the present state where a field says "now".
type Stats struct {
	Acquired            uint64                       // locks given out, of all kinds
	AcquiredShared      uint64                       // of them to readers
	AcquiredPermits     uint64                       // of them as permits
	Taken               uint64                       // attempts refused because somebody held the lock
	SplitVotes          uint64                       // attempts in which some masters granted and too many refused
	NoQuorum            uint64                       // attempts that too few masters answered
	Denied              uint64                       // attempts at a name that a master's ACL does not allow
	Expired             uint64                       // attempts whose quorum came too late to leave validity
	Retries             uint64                       // further attempts of an Acquire
	FencesRaised        uint64                       // attempts that needed a second round trip for their fencing token
	Released            uint64                       // releases that a quorum confirmed
	HandedOver          uint64                       // releases that gave the lock to the next in this process, or left it to other readers here
	PassedOn            uint64                       // releases that gave the lock to another process in line
	NotHeld             uint64                       // releases that found the lock gone or another's
	ReleasesUnconfirmed uint64                       // releases that were not confirmed when their caller stopped waiting
	Held                int                          // locks of all kinds that are held, now; one that ran out counts until its name or handle is next used
	HeldShared          int                          // of them by readers
	HeldPermits         int                          // of them as permits
	LostBy              map[string]map[string]uint64 // locks lost, by kind (exclusive, shared, permit) and cause (expired, not_held, closed)
	FailedBy            map[string]map[string]uint64 // attempts that failed, by kind and result (taken, split_vote, no_quorum, expired, denied)
	Lost                uint64                       // locks whose validity ran out, or that a renewal, Extend or Release found gone or another's; not those that Close ended
	Renewed             uint64                       // renewals in the background that a quorum confirmed, those of short leases that were passed on among them
	RenewalsFailed      uint64                       // renewals that too few masters answered; tried again
	Eroded              int                          // locks kept alive that a voting master lacks, now; a Set counts by name
	Healed              uint64                       // times that a master which lacked a lock was given it again (HeldOn)
	Waiting             int                          // goroutines that queue behind others of this process, now
	EventsDropped       uint64                       // events that Observer and Logger missed, being too slow
	TracerPanics        uint64                       // panics of the Tracer's functions

	Rounds       uint64 // batches formed; each goes to all masters that are up
	Requests     uint64 // acquires, extends and releases in them; Requests/Rounds is the mean size
	LargestRound int    // requests in the largest batch since New
	Queued       int    // requests that wait for a round, now
	Overloaded   uint64 // acquires refused because the queue was full

	Masters []MasterStats // in the order of Config.Masters
}

// MasterStats is one master's part of Stats.
type MasterStats struct {
	Address         string
	Up              bool          // now
	Cause           error         // why it is away, or casts no vote, now; a MasterError's Err
	VotesFrom       time.Time     // when it votes on new locks again after a restart; zero: it does, or Cause says why not
	Since           time.Time     // of Up and Cause, as they are
	SetAside        uint64        // times that it was set aside
	RoundTrip       time.Duration // shortest answer to a few requests lately
	Window          int           // writes that may be under way to it at once; follows from RoundTrip
	InFlight        int           // requests sent to it and not answered, pending releases included, now
	Backlog         int           // requests that wait to be sent to it, now
	Behind          uint64        // times that it fell too far behind the others; it gets no rounds until it has caught up
	PendingReleases int           // releases not sent to it yet, or not answered, now
	PendingDeleted  uint64        // keys that pending releases found and deleted
	ReleasesDenied  uint64        // releases that its ACL forbids; their locks run out by themselves
	BatchesRefused  uint64        // MSETEX of many names that one held name refused; the names were then asked for singly
	Tracking        bool          // it has a second connection for notifications of released names, now
	Reads           uint64        // awaited names that were read over that connection
	Pushes          uint64        // notifications received over it
	Lines           bool          // processes stand in line there for a name, now
	NoLine          error         // why they do not; nil: it was not tried, or they do
}

type counters struct {
	acquired                                                     [3]atomic.Uint64 // Stats sums what it read, so that no part is more
	held                                                         [3]atomic.Int64
	failed, lost                                                 [3][5]atomic.Uint64 // by kind, and why
	released, handedOver, passedOn, notHeld, releasesUnconfirmed atomic.Uint64
	renewed, renewalsFailed, retries, healed                     atomic.Uint64
	overloaded                                                   atomic.Uint64 // refused by acquire itself: the pipeline counts the others
	tracerPanics                                                 atomic.Uint64
	waiting                                                      atomic.Int64
}

// What counters are of: kinds of locks, why attempts failed, why locks were lost.
const (
	otherLocks, sharedLocks, permitLocks                   = 0, 1, 2
	whyTaken, whySplit, whyNoQuorum, whyExpired, whyDenied = 0, 1, 2, 3, 4
	lostExpired, lostNotHeld, lostClosed                   = 0, 1, 2
)

var (
	kindNames = []string{"exclusive", "shared", "permit"}
	failures  = []string{"taken", "split_vote", "no_quorum", "expired", "denied"}
	causes    = []string{"expired", "not_held", "closed"}
)

// fail counts an attempt that failed.
func (c *counters) fail(k kind, why int) { c.failed[kinds[k].count][why].Add(1) }

func (c *counters) attempt(k kind, s step, out pipeline.Outcome) {
	switch {
	case errors.Is(s.why, ErrClosed):
	case errors.Is(s.why, ErrExpired):
		c.fail(k, whyExpired)
	case errors.Is(s.why, ErrDenied):
		c.fail(k, whyDenied)
	case out.Verdict == quorum.NoQuorum:
		c.fail(k, whyNoQuorum)
	case out.Tally.Granted > 0:
		c.fail(k, whySplit)
	default:
		c.fail(k, whyTaken)
	}
}

// lossCause returns why a lock was lost.
func lossCause(err error) int {
	switch {
	case errors.Is(err, ErrClosed):
		return lostClosed
	case errors.Is(err, ErrNotHeld):
		return lostNotHeld
	}
	return lostExpired
}

// by returns counters by their names, and their sums over all kinds.
func by(all *[3][5]atomic.Uint64, names []string) (each map[string]map[string]uint64, sums [5]uint64) {
	each = make(map[string]map[string]uint64)
	for k, kind := range kindNames {
		each[kind] = make(map[string]uint64)
		for i, name := range names {
			each[kind][name] = all[k][i].Load()
			sums[i] += each[kind][name]
		}
	}
	return each, sums
}

func (c *counters) release(handedOver bool, err error) {
	switch {
	case handedOver:
		c.handedOver.Add(1)
	case err == nil:
		c.released.Add(1)
	case errors.Is(err, ErrNotHeld):
		c.notHeld.Add(1)
	default:
		c.releasesUnconfirmed.Add(1)
	}
}

// Stats returns a snapshot. It reads the counters one after the other.
func (e *Engine) Stats() Stats { return e.stats(e.masters.pipe.Stats()) }

func (e *Engine) stats(p pipeline.Stats) Stats {
	c := &e.record.counts
	s := Stats{
		AcquiredShared: c.acquired[sharedLocks].Load(), AcquiredPermits: c.acquired[permitLocks].Load(),
		HeldShared: int(c.held[sharedLocks].Load()), HeldPermits: int(c.held[permitLocks].Load()), Released: c.released.Load(),
		NotHeld: c.notHeld.Load(), ReleasesUnconfirmed: c.releasesUnconfirmed.Load(),
		HandedOver: c.handedOver.Load(), PassedOn: c.passedOn.Load(), Renewed: c.renewed.Load(), RenewalsFailed: c.renewalsFailed.Load(),
		Eroded: e.keeper.erodedNow(), Healed: c.healed.Load(),
		Retries: c.retries.Load(), FencesRaised: e.masters.raised.Load(), EventsDropped: e.record.queue.Dropped(), TracerPanics: c.tracerPanics.Load(), Waiting: int(c.waiting.Load()),
		Rounds: p.Rounds, Requests: p.Requests, LargestRound: p.LargestRound, Queued: p.Queued,
		Overloaded: p.Overloaded + c.overloaded.Load(),
	}
	var failed, lost [5]uint64
	s.FailedBy, failed = by(&c.failed, failures)
	s.LostBy, lost = by(&c.lost, causes)
	s.Taken, s.SplitVotes, s.NoQuorum, s.Expired, s.Denied = failed[whyTaken], failed[whySplit], failed[whyNoQuorum], failed[whyExpired], failed[whyDenied]
	s.Lost = lost[lostExpired] + lost[lostNotHeld]
	s.Acquired = c.acquired[otherLocks].Load() + s.AcquiredShared + s.AcquiredPermits
	s.Held = int(c.held[otherLocks].Load()) + s.HeldShared + s.HeldPermits
	for _, m := range p.Masters {
		s.Masters = append(s.Masters, MasterStats(m))
	}
	return s
}
