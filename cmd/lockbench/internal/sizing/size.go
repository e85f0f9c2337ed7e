package sizing

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"muxlock/bench"
	"muxlock/internal/redlock"
)

// Ask is what the user wants.
type Ask struct {
	Eps     float64       `json:"eps"`      // accepted share of acquisitions that lose validity
	RTO     time.Duration `json:"rto_ns"`   // how long a crashed holder may block others
	Pause   time.Duration `json:"pause_ns"` // to be survived where no longer ones were seen
	Waiters int           `json:"waiters"`  // processes that may want one name at once; 0: as measured
	Hold    *bench.Span   `json:"hold_given,omitempty"`
}

// Config is the fields of engine.Config that are sized.
type Config struct {
	TTL           time.Duration `json:"ttl_ns"`
	MaxTTL        time.Duration `json:"max_ttl_ns"`
	MasterTimeout time.Duration `json:"master_timeout_ns"`
	Drift         float64       `json:"drift"`
	RetryHeld     time.Duration `json:"retry_held_ns"`
	RetrySplit    time.Duration `json:"retry_split_ns"`
	Fencing       bool          `json:"fencing,omitempty"` // as it was measured
	Renew         bool          `json:"renew"`             // hold with KeepAlive, Do or Lead
}

// From is where a part comes from.
type From string

// Where parts come from.
const (
	Seen    From = "seen"
	Asked   From = "given"
	Assumed From = "assumed"
	Bounded From = "bounded" // by a rule or a constant of the engine
)

// Part is a time that others are made of.
type Part struct {
	Took    time.Duration `json:"took_ns"`
	From    From          `json:"from"`
	N       int64         `json:"n"`       // samples; 0: none
	Beyond  float64       `json:"beyond"`  // share that takes longer
	AtMost  float64       `json:"at_most"` // that it is at most, with 95 %
	Longest time.Duration `json:"longest_ns"`
}

// Sizes is the answer, with what it is made of.
type Sizes struct {
	Masters int    `json:"masters"`
	Waiters int    `json:"waiters"`
	Config  Config `json:"config"`
	// Least is the shortest TTL by the rules, not rounded, and Most the longest that the RTO
	// leaves room for. Missed: Least is longer.
	Least  time.Duration `json:"least_ttl_ns"`
	Most   time.Duration `json:"most_ttl_ns"`
	Missed bool          `json:"missed"`
	Blocks time.Duration `json:"blocks_ns"` // for how long a crashed holder blocks others at most

	Watched  time.Duration `json:"watched_ns"`
	Quorum   Part          `json:"quorum"`   // at the farthest quantile that is shown
	OneDown  Part          `json:"one_down"` // median of a quorum without the master that is missed most; 0: there is none
	Acquire  Part          `json:"acquire"`  // the most that one uses up
	Hold     Part          `json:"hold"`     // not renewed
	Pause    Part          `json:"pause"`    // within such a hold, or within one renewal
	Outage   Part          `json:"outage"`   // of all masters; renewed only
	Clocks   time.Duration `json:"clocks_ns"`
	MeanHold time.Duration `json:"mean_hold_ns"`
	Slowest  float64       `json:"slowest_ppm"` // rate of the worst clock, its error included

	// Lost is how many of the acquisitions lose their lock at most, with 95 %: holds that take
	// longer, and pauses that are longer than any that was seen.
	Lost       float64 `json:"lost_at_most"`
	LostHold   float64 `json:"lost_to_hold"`
	LostPause  float64 `json:"lost_to_pause"`
	SplitShare float64 `json:"split_share"` // of votes, with one master down

	// Spread has 95 % intervals; empty where a constant decides, or the longest time that was seen.
	Spread Spread `json:"spread"`
	// Lacks is what has to be measured before any of this is worth something.
	Lacks    []string `json:"lacks,omitempty"`
	Inputs   []Input  `json:"inputs"`
	Warnings []string `json:"warnings,omitempty"`
}

// Input is one thing that was measured.
type Input struct {
	Name     string        `json:"name"`
	N        int64         `json:"n"`
	Censored int64         `json:"censored,omitempty"`
	P50      time.Duration `json:"p50_ns"`
	P99      time.Duration `json:"p99_ns"`
	Longest  time.Duration `json:"longest_ns"`
}

const (
	margin       = 2 // what is measured may become that much worse
	leastTimeout = 50 * time.Millisecond
	timeoutOfRTO = 10 // at most that part of it
	assumedHold  = time.Second
)

// Size is the rules of the package, once.
func Size(m Measured, ask Ask) Sizes {
	attempts := m.attempts()
	s := Sizes{Masters: m.Masters, Waiters: max(cmp.Or(ask.Waiters, m.Procs), 2), Watched: m.Watched, Inputs: m.inputs(), Warnings: m.Warnings}
	s.Quorum, s.OneDown = farthest(attempts), m.withoutOne()
	timeout := min(max(margin*max(s.Quorum.Took, s.OneDown.Took), leastTimeout), max(ask.RTO/timeoutOfRTO, leastTimeout))
	timeout = roundUp(timeout)
	s.Acquire = Part{Took: m.longestAttempt(timeout), From: Bounded}
	s.Hold, s.MeanHold = m.hold(ask)

	trip, _ := attempts.Quantile(0.5)
	held, split, votes := m.retries(trip, s.Hold, s.Waiters)
	s.SplitShare = votes
	clocks := clocksOf(m.Clocks)
	_, last := redlock.HeldDelay(held)
	s.Most = roundDown(time.Duration(float64(ask.RTO-last-s.Quorum.Took)/(1+clocks.rho)) - time.Millisecond)
	s.Slowest = clocks.worst

	work := s.Acquire.Took + s.Hold.Took
	s.Pause = m.pause(work, ask)
	s.Least = clocks.lease(work+s.Pause.Took, 0)
	renew := s.Least > s.Most
	if renew {
		// The keeper sleeps between two renewals, so only a pause in which one falls due delays it:
		// the lease has to outlast what pauses take from one renewal of the usual length, an outage
		// of all masters, or a try that ends with MasterTimeout; and beside it a renewal that takes
		// what a quorum takes, and the time until it is due and until it is tried again.
		s.Pause, s.Outage = m.pause(trip, ask), m.outage(timeout)
		s.Least = clocks.lease(s.Quorum.Took+max(s.Pause.Took, s.Outage.Took, timeout), 1.0/redlock.RenewalsPerTTL+1.0/redlock.RetriesPerTTL)
	}
	s.Missed = s.Least > s.Most
	ttl := roundUp(s.Least)
	if !s.Missed {
		ttl = min(ttl, s.Most)
	}
	s.Config = Config{
		TTL: ttl, MaxTTL: max(ttl, s.Most), MasterTimeout: timeout, Drift: clocks.drift(ttl),
		RetryHeld: held, RetrySplit: split, Fencing: m.Fencing, Renew: renew,
	}
	s.Blocks = time.Duration(float64(ttl)*(1+clocks.rho)) + last + s.Quorum.Took
	s.Clocks = time.Duration(clocks.rho*float64(ttl)) + clocks.c
	s.LostHold, s.LostPause = m.lost(s, trip+s.MeanHold)
	s.Lost = min(s.LostHold+s.LostPause, 1)
	s.Lacks = m.lacks(s, attempts)
	return s
}

// farthest is the time at the farthest quantile that the samples show, or the longest.
func farthest(t Times) Part {
	p := Part{Took: t.Longest(), From: Seen, N: t.n, AtMost: 1, Longest: t.Longest()}
	for _, beyond := range []float64{0.1, 0.01, 0.001} {
		if t.Shows(beyond) {
			took, ok := t.Quantile(beyond)
			p.Took, p.Beyond, p.AtMost = took, beyond, 0
			if ok {
				_, p.AtMost = t.Above(took)
			}
		}
	}
	return p
}

// withoutOne is what a quorum mostly takes while the master is down that is missed most.
func (m Measured) withoutOne() (worst Part) {
	for i := range m.Masters {
		t := m.quorums(i)
		if took, ok := t.Quantile(0.5); ok && took > worst.Took {
			worst = Part{Took: took, From: Seen, N: t.n, Beyond: 0.5, Longest: t.Longest()}
		}
	}
	return worst
}

// longestAttempt is how much of a lease an acquire can have used up: the engine lets one trip
// take MasterTimeout, needs two for some fences, and bounds what is handed over in a process.
func (m Measured) longestAttempt(timeout time.Duration) time.Duration {
	most := timeout
	if m.Fencing {
		most *= 2
	}
	if m.Shared {
		most += redlock.DefaultHandOverTime
	}
	return most
}

// hold is how long a lock is held at the quantile that was asked for, if the samples show it,
// or the longest, and how long one is held on average. Where too many outlived the measurement,
// longer ones may be anything.
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
	took, ok := t.Quantile(beyond)
	p = Part{Took: took, From: from, N: t.n, Longest: t.Longest()}
	p.Beyond, p.AtMost = t.Above(took)
	if !ok {
		p.AtMost = 1
	}
	return p, mean
}

// given is what all but a part of beyond of the holds take at most that are drawn from a law.
func given(hold bench.Span, beyond float64) Part {
	kind, args, _ := strings.Cut(hold.String(), ":")
	first, second, _ := strings.Cut(args, ",")
	scale, _ := time.ParseDuration(first) // of what a span writes itself
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
		lacks = append(lacks, fmt.Sprintf("%d of %d holds outlived the measurement: measure for longer than they last, or give --hold", m.Holds.censored, m.Holds.n))
	}
	return lacks
}

// inputs is what was measured, for people.
func (m Measured) inputs() []Input {
	var pauses []time.Duration
	for _, p := range m.Pauses {
		pauses = append(pauses, p.Took)
	}
	all := []Input{}
	for _, one := range []struct {
		name string
		Times
	}{{"quorum of round trips", m.quorums(-1)}, {"acquire", m.Acquires}, {"hold", m.Holds}, {"pause", Count(pauses, nil, 0)}} {
		if one.n > 0 {
			in := Input{Name: one.name, N: one.n, Censored: one.censored, Longest: one.Longest()}
			in.P50, _ = one.Quantile(0.5)
			in.P99, _ = one.Quantile(0.01)
			all = append(all, in)
		}
	}
	return all
}

// roundUp is to two digits, in whole ms from 10 ms on.
func roundUp(d time.Duration) time.Duration {
	step := stepOf(d)
	return (d + step - 1) / step * step
}

// roundDown is to two digits, in whole ms.
func roundDown(d time.Duration) time.Duration {
	return max(d/stepOf(d)*stepOf(d), 0).Truncate(time.Millisecond)
}

func stepOf(d time.Duration) time.Duration {
	step := time.Duration(math.Pow10(max(int(math.Log10(float64(max(d, 1))))-1, 0)))
	if d >= 10*time.Millisecond {
		step = max(step, time.Millisecond)
	}
	return step
}
