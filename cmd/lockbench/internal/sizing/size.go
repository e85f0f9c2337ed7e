package sizing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"muxlock/bench"
	"muxlock/internal/redlock"
)

// Ask has the user's requirements.
type Ask struct {
	Eps     float64       `json:"eps"`      // accepted share of acquisitions that lose validity
	RTO     time.Duration `json:"rto_ns"`   // how long a crashed holder may block others
	Pause   time.Duration `json:"pause_ns"` // least pause to survive
	Waiters int           `json:"waiters"`  // processes that may want one name at once; 0: as measured
	Hold    *bench.Span   `json:"hold_given,omitempty"`
}

// Config has the sized fields of engine.Config.
type Config struct {
	TTL           time.Duration `json:"ttl_ns"`
	MaxTTL        time.Duration `json:"max_ttl_ns"`
	MasterTimeout time.Duration `json:"master_timeout_ns"`
	Drift         float64       `json:"drift"`
	RetryHeld     time.Duration `json:"retry_held_ns"`
	RetrySplit    time.Duration `json:"retry_split_ns"`
	Fencing       bool          `json:"fencing,omitempty"` // as in the measurement
	Renew         bool          `json:"renew"`             // hold with KeepAlive, Do or Lead
}

// From is the source of a part.
type From string

// Sources of parts.
const (
	Seen    From = "seen"
	Asked   From = "given"
	Assumed From = "assumed"
	Bounded From = "bounded" // by a rule or a constant of the engine
)

// Part is a time that sizes are made of.
type Part struct {
	Took    time.Duration `json:"took_ns"`
	From    From          `json:"from"`
	N       int64         `json:"n"`       // samples; 0: none
	Beyond  float64       `json:"beyond"`  // share of longer times
	AtMost  float64       `json:"at_most"` // 95 % bound on that share
	Longest time.Duration `json:"longest_ns"`
}

// Sizes is the answer, with its parts.
type Sizes struct {
	Masters int    `json:"masters"`
	Waiters int    `json:"waiters"`
	Config  Config `json:"config"`
	// Least is the shortest TTL by the rules, not rounded. Most is the longest TTL that the RTO
	// allows. Missed says that Least is longer than Most.
	Least  time.Duration `json:"least_ttl_ns"`
	Most   time.Duration `json:"most_ttl_ns"`
	Missed bool          `json:"missed"`
	Blocks time.Duration `json:"blocks_ns"` // longest time that a crashed holder blocks others

	Watched  time.Duration `json:"watched_ns"`
	Trip     time.Duration `json:"trip_ns"`  // median time of a quorum
	Quorum   Part          `json:"quorum"`   // at the farthest quantile that the samples show
	OneDown  Part          `json:"one_down"` // median trip to the farthest master; 0: none answered most probes
	Acquire  Part          `json:"acquire"`  // the most validity that an acquire uses up
	Hold     Part          `json:"hold"`     // without renewals
	Pause    Part          `json:"pause"`    // within such a hold, or within one renewal
	Outage   Part          `json:"outage"`   // of all masters; renewed only; From is empty if not watched
	Clocks   time.Duration `json:"clocks_ns"`
	MeanHold time.Duration `json:"mean_hold_ns"`
	Slowest  float64       `json:"slowest_ppm"` // rate of the worst clock, its error included

	// Lost is a 95 % bound on the share of acquisitions that lose their lock: to longer holds, and
	// to pauses longer than any seen.
	Lost       float64 `json:"lost_at_most"`
	LostHold   float64 `json:"lost_to_hold"`
	LostPause  float64 `json:"lost_to_pause"`
	SplitShare float64 `json:"split_share"` // of votes; of an odd number of masters, one is down

	// Spread has 95 % intervals. A size decided by a constant or by the longest time has none.
	Spread Spread `json:"spread"`
	// Lacks says what must be measured before the sizes are of use.
	Lacks    []string `json:"lacks,omitempty"`
	Inputs   []Input  `json:"inputs"`
	Warnings []string `json:"warnings,omitempty"`
}

// Input summarizes one measured kind of times.
type Input struct {
	Name     string        `json:"name"`
	N        int64         `json:"n"`
	Censored int64         `json:"censored,omitempty"`
	P50      time.Duration `json:"p50_ns"`
	P99      time.Duration `json:"p99_ns"`
	Longest  time.Duration `json:"longest_ns"`
}

const (
	margin       = 2 // measured times may become this many times longer
	LeastTimeout = 50 * time.Millisecond
	timeoutOfRTO = 10 // MasterTimeout is at most the RTO divided by this, unless few acquires win then
	assumedHold  = time.Second
)

// Size applies the rules of the package once.
func Size(m Measured, ask Ask) Sizes {
	attempts := m.attempts()
	s := Sizes{Masters: m.Masters, Waiters: max(cmp.Or(ask.Waiters, m.Procs), 2), Watched: m.Watched, Inputs: m.inputs(), Warnings: m.Warnings}
	s.Quorum, s.OneDown = farthest(attempts), m.farthestMaster()
	trip, _ := attempts.Quantile(0.5)
	s.Trip = trip
	allowed := max(roundDown(ask.RTO/timeoutOfRTO), RoundUp(margin*trip), LeastTimeout)
	timeout := min(RoundUp(max(margin*max(s.Quorum.Took, s.OneDown.Took), LeastTimeout)), allowed)
	trips := time.Duration(1) // of an acquire, at most
	if m.Fencing {
		trips = 2 // for some fences
	}
	// The engine lets one trip take MasterTimeout, and bounds hand-overs in a process. A longer bound
	// than the default shows in m.HandOvers alone.
	attempt, handed := trips*timeout, m.HandOvers.Longest()
	if m.Shared {
		attempt += redlock.DefaultHandOverTime
	}
	s.Hold, s.MeanHold = m.hold(ask)

	clocks := clocksOf(m.Clocks)
	if clocks.unseen {
		s.Warnings = append(slices.Clone(s.Warnings), "the rate of a master's clock was not seen: measure for longer; until then the usual allowance is assumed for it")
	}
	room := ask.RTO - trips*s.Quorum.Took - clocks.jump // for the key of a crashed holder, and a waiter's delay
	most := func(held time.Duration) time.Duration {
		_, last := redlock.HeldDelay(held)
		return roundDown(time.Duration(float64(room-last)/(1+clocks.rho)) - time.Millisecond)
	}
	s.Most = most(shortestHeld(trip))
	s.Slowest = clocks.worst

	s.Pause = m.pause(attempt+s.Hold.Took, ask)
	next := s.Hold.Took + s.Pause.Took
	// A hand-over leaves half of the lease, or the engine extends it first. If half suffices for what is
	// next, so do longer hand-overs.
	s.Acquire = Part{Took: max(attempt, min(handed, next)), From: Bounded}
	s.Least = clocks.lease(s.Acquire.Took+next, 0)
	if s.Least > s.Most {
		// The keeper sleeps between two renewals, so only a pause in which one falls due delays it.
		// The lease must outlast the longest of: pauses during one usual renewal, an outage of all
		// masters, a try that ends with MasterTimeout. To that come the delay before the renewal is
		// retried, and its quorum. Validity counts from when the last renewal was sent, and the next is
		// due T/3 after its answer; or from when the acquire was sent, and after a late one the first
		// is due at once.
		pause, outage := m.pause(trip, ask), m.outage(timeout)
		next = max(pause.Took, outage.Took, timeout) + s.Quorum.Took
		acquire := max(attempt, min(handed, next*12/11)) // half of the lease, less T/24
		least := max(clocks.lease(s.Quorum.Took+next, 1.0/redlock.RenewalsPerTTL+1.0/redlock.RetriesPerTTL), clocks.lease(acquire+next, 1.0/redlock.RetriesPerTTL))
		if s.Config.Renew = least < s.Least; s.Config.Renew {
			s.Pause, s.Outage, s.Acquire.Took, s.Least = pause, outage, acquire, least
		}
	}
	s.Missed = s.Least > s.Most
	ttl := RoundUp(s.Least)
	expires := time.Duration(float64(ttl+2*time.Millisecond) * (1 + clocks.rho)) // as in most, and rounding
	held, split, votes := m.retries(trip, s.MeanHold, (room-expires)/3*2, s.Waiters)
	s.Most, s.SplitShare = most(held), votes
	s.Config = Config{
		TTL: ttl, MaxTTL: max(ttl, min(s.Most, redlock.DefaultMaxTTL)), MasterTimeout: timeout, Drift: clocks.drift(ttl),
		RetryHeld: held, RetrySplit: split, Fencing: m.Fencing, Renew: s.Config.Renew,
	}
	_, last := redlock.HeldDelay(held)
	s.Blocks = time.Duration(float64(ttl)*(1+clocks.rho)) + clocks.jump + last + trips*s.Quorum.Took
	s.Clocks = time.Duration(clocks.rho*float64(ttl)) + clocks.c
	s.LostHold, s.LostPause = m.lost(s, trip+s.MeanHold)
	s.Lost = min(s.LostHold+s.LostPause, 1)
	s.Lacks = m.lacks(s, attempts)
	return s
}

// farthest returns the farthest quantile that the samples show, or the longest time. If that
// quantile is censored, it returns the longest time and the share beyond that.
func farthest(t Times) Part {
	p := Part{Took: t.Longest(), From: Seen, N: t.n, AtMost: 1, Longest: t.Longest()}
	for _, beyond := range []float64{0.1, 0.01, 0.001} {
		if t.Shows(beyond) {
			took, ok := t.Quantile(beyond)
			p.Took = took
			p.Beyond, p.AtMost = t.Above(took)
			if ok {
				p.Beyond = beyond
			}
		}
	}
	return p
}

// farthestMaster returns the median trip to the farthest of the masters that answer most probes. With as
// many masters down as can be spared, a quorum needs all others.
func (m Measured) farthestMaster() (p Part) {
	for i := range m.Masters {
		t := m.times(func(r Round) (time.Duration, bool) { return r.Trips[i], r.Trips[i] >= 0 })
		if took, ok := t.Quantile(0.5); ok && took > p.Took {
			p = Part{Took: took, From: Seen, N: t.n, Beyond: 0.5, Longest: t.Longest()}
		}
	}
	return p
}

// hold returns the hold at the quantile of ask.Eps if the samples show it, else the longest, and
// the mean hold.
func (m Measured) hold(ask Ask) (p Part, mean time.Duration) {
	t, mean, from := m.Holds, cmp.Or(m.Holds.Mean(), assumedHold), Seen
	switch {
	case ask.Hold != nil && ask.Hold.Samples() == nil:
		return given(*ask.Hold, ask.Eps), ask.Hold.Mean()
	case ask.Hold != nil:
		t, mean, from = Count(ask.Hold.Samples(), nil, 0), ask.Hold.Mean(), Asked
	case t.n == 0:
		return Part{Took: assumedHold, From: Assumed, Longest: assumedHold}, assumedHold
	}
	beyond := ask.Eps
	if !t.Shows(beyond) {
		beyond = 0
	}
	took, _ := t.Quantile(beyond)
	p = Part{Took: took, From: from, N: t.n, Longest: t.Longest()}
	p.Beyond, p.AtMost = t.Above(took)
	return p, mean
}

// given returns the hold that a share of beyond exceeds, for holds drawn from a distribution.
func given(hold bench.Span, beyond float64) Part {
	kind, args, _ := strings.Cut(hold.String(), ":")
	first, second, _ := strings.Cut(args, ",")
	scale, _ := time.ParseDuration(first) // Span.String wrote it
	sigma, _ := strconv.ParseFloat(second, 64)
	took := float64(hold.Mean())
	switch kind {
	case "exp":
		took = distuv.Exponential{Rate: 1 / float64(scale)}.Quantile(1 - beyond)
	case "lognormal":
		took = distuv.LogNormal{Mu: math.Log(float64(scale)), Sigma: max(sigma, 1e-9)}.Quantile(1 - beyond)
	default:
		beyond = 0
	}
	longest := time.Duration(min(took, math.MaxInt64/4))
	return Part{Took: longest, From: Asked, Beyond: beyond, AtMost: beyond, Longest: longest}
}

func (m Measured) lacks(s Sizes, attempts Times) (lacks []string) {
	if n := attempts.n; n < few {
		lacks = append(lacks, fmt.Sprintf("%d acquires or round trips show no percentile: measure until there are %d", n, few))
	} else if p, ok := attempts.Quantile(0.1); !ok || p == 0 {
		lacks = append(lacks, "a tenth of the probes found no quorum: mend the masters, then measure")
	}
	if s.Hold.From == Seen && s.Hold.AtMost == 1 && !s.Config.Renew {
		lacks = append(lacks, fmt.Sprintf("all of %d holds outlived the measurement: measure for longer than they last, or give --hold", m.Holds.n))
	}
	return lacks
}

// inputs summarizes the measurement for people.
func (m Measured) inputs() []Input {
	var pauses []time.Duration
	for _, p := range m.Pauses {
		pauses = append(pauses, p.Took)
	}
	all := []Input{}
	for _, one := range []struct {
		name string
		Times
	}{{"quorum of round trips", m.quorums()}, {"acquire", m.Acquires}, {"hold", m.Holds}, {"longest pauses", Count(pauses, nil, 0)}} {
		if one.n > 0 {
			in := Input{Name: one.name, N: one.n, Censored: one.censored, Longest: one.Longest()}
			in.P50, _ = one.Quantile(0.5)
			in.P99, _ = one.Quantile(0.01)
			all = append(all, in)
		}
	}
	return all
}

// RoundUp rounds up to two digits, which are whole ms from 10 ms on.
func RoundUp(d time.Duration) time.Duration {
	step := stepOf(d)
	return (d + step - 1) / step * step
}

// roundDown rounds down to two digits and whole ms.
func roundDown(d time.Duration) time.Duration {
	return max(d/stepOf(d)*stepOf(d), 0).Truncate(time.Millisecond)
}

func stepOf(d time.Duration) time.Duration {
	return time.Duration(math.Pow10(max(int(math.Log10(float64(max(d, 1))))-1, 0)))
}
