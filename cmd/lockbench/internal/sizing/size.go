package sizing

import (
	"cmp"
	"time"

	"muxlock/bench"
	"muxlock/internal/redlock"
)

// Ask has the user's requirements.
type Ask struct {
	RTO   time.Duration `json:"rto_ns"`   // how long a crashed holder may block others; 0: not said
	Pause time.Duration `json:"pause_ns"` // pause to survive, even if none so long was seen
	Hold  *bench.Span   `json:"hold_given,omitempty"`
}

// Config has the sized fields of engine.Config.
type Config struct {
	TTL           time.Duration `json:"ttl_ns"`
	MaxTTL        time.Duration `json:"max_ttl_ns"`
	MasterTimeout time.Duration `json:"master_timeout_ns"`
	Fencing       bool          `json:"fencing,omitempty"` // as in the measurement
	Renew         bool          `json:"renew"`             // hold with KeepAlive, Do or Lead
}

// Reason says what decided the TTL.
type Reason string

// Reasons of a TTL: the largest round number that is allowed, or what is needed.
const (
	ByRTO     Reason = "rto"
	ByMaxTTL  Reason = "max_ttl"
	ByDefault Reason = "default" // the engine's, without an RTO
	ByNeed    Reason = "needed"
)

// Part is a time that the TTL must outlast.
type Part struct {
	Took  time.Duration `json:"took_ns"`
	Given bool          `json:"given,omitempty"` // by the user; else seen
	N     int64         `json:"n,omitempty"`     // times or probes that it is the longest of
}

// Sizes is the answer, with its parts.
type Sizes struct {
	Masters int           `json:"masters"`
	Watched time.Duration `json:"watched_ns"`
	Config  Config        `json:"config"`
	Why     Reason        `json:"ttl_by"`

	Needed  time.Duration `json:"needed_ttl_ns"`  // least TTL that outlasts the longest of all parts at once
	Allowed time.Duration `json:"allowed_ttl_ns"` // longest TTL that the RTO allows
	Missed  bool          `json:"missed"`         // there is an RTO, and Needed is longer than Allowed
	Enough  time.Duration `json:"enough_rto_ns"`  // RTO that allows Needed
	Unkept  time.Duration `json:"unkept_ttl_ns"`  // as Needed, if no lock is renewed; 0: all were
	Blocks  time.Duration `json:"blocks_ns"`      // longest time that a crashed holder blocks others
	InUse   time.Duration `json:"max_ttl_in_use_ns"`
	Longest time.Duration `json:"longest_ttl_in_use_ns"` // 0: not known
	Renewed float64       `json:"renewed_share"`         // of the locks of the measurement

	Acquire time.Duration `json:"acquire_ns"` // validity used up when Acquire returns, at most
	Hold    Part          `json:"hold"`       // of a lock that is not renewed
	Shared  bool          `json:"shared"`     // acquires include hand-overs in the process
	Open    int64         `json:"open"`       // locks that are held for longer than the measurement shows
	Pause   Part          `json:"pause"`      // all pauses in such a hold; renewed: the longest pause
	Outage  Part          `json:"outage"`     // of the masters, with pauses beside it; N is 0 if nobody probed them
	Clocks  time.Duration `json:"clocks_ns"`
	Quorum  time.Duration `json:"quorum_ns"`         // until a quorum answered, at percentile QuorumP
	QuorumP float64       `json:"quorum_percentile"` // 99.9
	OneDown time.Duration `json:"one_down_ns"`       // median trip to the farthest master that answers most probes
	Trip    time.Duration `json:"trip_ns"`           // median time of a quorum
	Slowest float64       `json:"slowest_ppm"`       // rate of the worst clock, its error included; 0: none was seen

	MeanHold time.Duration `json:"mean_hold_ns"` // of locks that are not renewed
	// Of Replayed locks at places of the measurement, Lost are lost with this TTL.
	Replayed int64 `json:"replayed"`
	Lost     int64 `json:"lost"`
	// If TTL outlasts Needed, AtMost is a 95 % bound on the share of locks that are lost without renewals.
	// Every is a 95 % bound for locks that are renewed: a pause or an outage that costs them comes no more often.
	AtMost float64       `json:"lost_at_most"`
	Every  time.Duration `json:"blocked_every_ns"`

	Notes []string `json:"notes,omitempty"`
	// Lacks says what to measure before the sizes are of use; empty: nothing.
	Lacks string `json:"lacks,omitempty"`
}

const (
	margin       = 2 // answers may take this many times as long
	LeastTimeout = 50 * time.Millisecond
	outageTrips  = 10 // a quorum that takes this many medians is away
	timeoutOfTTL = 10 // MasterTimeout is at most the TTL divided by this, unless few acquires win then

	// The engine's.
	defaultTTL  = 10 * time.Second
	defaultHeld = 25 * time.Millisecond // Config.RetryHeld
)

// Size applies the rules of the package. The measurement or the user must have given holds.
func Size(m Measured, ask Ask) Sizes {
	s := Sizes{Masters: m.Masters, Watched: m.Watched, InUse: cmp.Or(m.MaxTTL, redlock.DefaultMaxTTL), Longest: m.LongestTTL, Shared: m.Shared, Notes: m.Notes}
	attempts := m.attempts()
	r := s.rules(m, ask, attempts)
	unkept, kept := m.holds(ask)
	blocks := s.parts(m, ask, r, unkept, kept)
	s.choose(ask)
	s.Config.MaxTTL, s.Config.MasterTimeout, s.Config.Fencing = max(s.Config.TTL, s.InUse), r.timeout, m.Fencing
	s.Clocks = s.Needed - usable(s.Needed)
	s.Blocks = slow(s.Config.TTL) + r.next
	s.Enough = RoundUp(slow(s.Needed+2*time.Millisecond) + r.next)
	s.Replayed, s.Lost = replays, m.replay(r, s, unkept, kept, blocks)
	s.AtMost, s.Every = m.bounds(s, unkept)
	s.Lacks = m.lacks(s, attempts)
	return s
}

// rules finds MasterTimeout, what follows from it, and the longest TTL that the RTO allows.
func (s *Sizes) rules(m Measured, ask Ask, attempts Times) rules {
	r := rules{handed: m.HandOvers.Longest()}
	s.Slowest, _ = m.clocks()
	s.Quorum, s.QuorumP = farthest(attempts)
	s.Trip, _ = attempts.Quantile(0.5)
	s.OneDown = m.farthestMaster()
	least := max(LeastTimeout, plain(margin*s.Trip, true))
	most := max(plain(min(cmp.Or(ask.RTO, defaultTTL), s.InUse)/timeoutOfTTL, false), least)
	r.quorum, r.timeout = s.Quorum, min(max(plain(margin*max(s.Quorum, s.OneDown), true), least), most)
	r.acquire = r.timeout
	if m.Fencing {
		r.acquire *= 2 // some fences take a second round trip
	}
	_, poll := redlock.HeldDelay(defaultHeld)
	r.next = poll + r.acquire + s.Trip // a renewal may be on its way when the holder crashes
	if m.Shared {
		r.acquire += redlock.DefaultHandOverTime // a longer one shows in m.HandOvers alone
	}
	s.Allowed = max(time.Duration(float64(ask.RTO-r.next)/(1+redlock.DefaultDrift))-time.Millisecond, 0).Truncate(time.Millisecond)
	return r
}

// parts finds what the TTL must outlast, and whether to renew. Locks are renewed if the lease would be too long
// otherwise. It returns the times in which no renewal is confirmed.
func (s *Sizes) parts(m Measured, ask Ask, r rules, unkept, kept Times) (blocks []Moment) {
	s.Hold = Part{Took: unkept.Longest(), Given: ask.Hold != nil, N: unkept.n - unkept.censored}
	s.Open, s.MeanHold = unkept.censored, unkept.Mean()
	s.Renewed = float64(kept.n) / float64(max(kept.n+unkept.n, 1))
	outages := m.outages(r.timeout)
	blocks = m.blocks(outages, r.timeout)
	pause, between := m.atLeast(m.stolen(r.acquire+s.Hold.Took), ask), m.atLeast(longest(m.blocks(nil, r.timeout)), ask)
	s.Outage = Part{Took: longest(outages), N: int64(len(m.Rounds))}
	if all := longest(blocks); all > between.Took {
		s.Outage.Took = all
	}
	if unkept.n > 0 {
		s.Unkept = RoundUp(r.unkept(s.Hold.Took + pause.Took))
	}
	limit := s.InUse
	if ask.RTO > 0 {
		limit = min(limit, s.Allowed)
	}
	renewed := RoundUp(r.kept(max(between.Took, s.Outage.Took)))
	s.Config.Renew = unkept.n == 0 || s.Unkept > limit && renewed < s.Unkept
	s.Needed, s.Pause = s.Unkept, pause
	if s.Config.Renew || kept.n > 0 && renewed > s.Unkept {
		s.Needed, s.Pause = renewed, between
	}
	s.Acquire = r.got(s.Hold.Took + pause.Took)
	return blocks
}

// choose sets the TTL: the largest round number that the RTO and MaxTTL allow, or what is needed if that is more.
func (s *Sizes) choose(ask Ask) {
	most := defaultTTL
	if s.Why = ByDefault; ask.RTO > 0 {
		most, s.Why = s.Allowed, ByRTO
	}
	if s.Missed = ask.RTO > 0 && s.Needed > s.Allowed; most > s.InUse && !s.Missed {
		most, s.Why = s.InUse, ByMaxTTL
	}
	ttl := plain(most, false)
	if s.Needed > ttl && !s.Missed {
		if ttl, s.Why = plain(s.Needed, true), ByNeed; ask.RTO > 0 && ttl > s.Allowed {
			ttl = s.Needed
		}
	}
	s.Config.TTL = ttl
}
