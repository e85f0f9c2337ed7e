// Package advice turns a result into a configuration: what was measured, what follows
// from it by the formulae of package sizing, how often it will still go wrong, and what
// speaks against all of it.
package advice

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
)

// Caveat stands under every advice.
const Caveat = "Without a fencing token checked at the resource, a pause longer than the validity is not preventable."

// Ask is what the user wants.
type Ask struct {
	Eps     float64       `json:"eps"`    // accepted probability of losing validity, per acquisition
	RTO     time.Duration `json:"rto_ns"` // how long a crashed holder may block others
	Rate    float64       `json:"rate"`   // acquisitions per second of the busiest name; 0: unknown
	Waiters int           `json:"waiters"`
	Budgets Budgets       `json:"budgets"`
	// Hold is how long a lock will be held; nil: as measured.
	Hold     *sizing.Law `json:"-"`
	HoldText string      `json:"hold"`
	// Samples is Hold where it comes from a file, with what was in the file.
	Samples *bench.Span `json:"hold_samples,omitempty"`
	// MasterUp and ZoneUp are the part of the time in which each is up.
	MasterUp float64  `json:"master_availability"`
	ZoneUp   float64  `json:"zone_availability"`
	Zones    []string `json:"zones,omitempty"` // of each master; empty: not known
	// Leases are to be among the Losses and Outages, beside those that always are.
	Leases []time.Duration `json:"-"`
}

// Advice is the whole of it. Times are ns.
type Advice struct {
	Ask     Ask      `json:"ask"`
	Impl    string   `json:"impl"`
	Masters int      `json:"masters"`
	Inputs  []Input  `json:"inputs"`
	TTL     Interval `json:"ttl"`
	// Missed is why the TTL of Config keeps a name longer than RTO; empty: it does not.
	Missed      string     `json:"missed,omitempty"`
	Spread      Spread     `json:"spread"`
	Losses      []Loss     `json:"losses"`  // what other leases cost, the shortest first
	Outages     []Survived `json:"outages"` // with KeepAlive
	Settings    []Setting  `json:"settings"`
	Config      Config     `json:"config"`
	Expected    []Chance   `json:"expected"`
	Check       *Check     `json:"check,omitempty"` // absent: the run was of another kind
	Sensitivity []Change   `json:"sensitivity"`
	Plan        *Plan      `json:"plan,omitempty"` // absent in older documents
	Warnings    []string   `json:"warnings"`
	Snippet     string     `json:"snippet"`
	Try         string     `json:"try"`             // the command that runs Config on the masters of the measurement
	Trial       []string   `json:"trial,omitempty"` // its flags but for the masters, as --name=value
	Caveat      string     `json:"caveat"`
	Args        []string   `json:"args,omitempty"` // of lockbench advise, as in Config of the document
}

// Interval is where the TTL may lie.
type Interval struct {
	Min   int64 `json:"min_ns"`   // safe whatever ties the parts together
	Tight int64 `json:"tight_ns"` // if they are independent
	Max   int64 `json:"max_ns"`
	Empty bool  `json:"empty"` // Min above Max: renew instead
	// Extrapolated is how the parts of Min go on beyond what was seen; empty: all was seen.
	Extrapolated []string `json:"extrapolated"`
}

// Setting is one line of what to set, or what follows from it.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Formula string `json:"formula"`
	Why     string `json:"why"`
	Spread  string `json:"spread,omitempty"` // 90 %
}

// Chance is a probability that is to be expected under Config.
type Chance struct {
	Name         string  `json:"name"`
	P            float64 `json:"p"`
	Lo           float64 `json:"lo"` // 95 %, of the samples alone
	Hi           float64 `json:"hi"`
	N            int64   `json:"n"`            // samples behind the interval; 0: none is
	Extrapolated bool    `json:"extrapolated"` // P is less than samples can show
	Formula      string  `json:"formula"`
}

// Change is what happens to the shortest TTL when something else changes.
type Change struct {
	What   string `json:"what"`
	MinNs  int64  `json:"ttl_min_ns"`
	ByNs   int64  `json:"by_ns"`
	Remark string `json:"remark"`
}

// Config is the fields of engine.Config that are advised.
type Config struct {
	TTL           time.Duration `json:"ttl_ns"`
	MaxTTL        time.Duration `json:"max_ttl_ns"`
	MasterTimeout time.Duration `json:"master_timeout_ns"`
	Drift         float64       `json:"drift"`
	RetryHeld     time.Duration `json:"retry_held_ns"`
	RetrySplit    time.Duration `json:"retry_split_ns"`
	Fencing       bool          `json:"fencing,omitempty"` // as it was measured
	Renew         bool          `json:"renew"`             // hold with KeepAlive or Do
}

// Rules of thumb, where no formula decides.
const (
	assumedHold = time.Second
	margin      = 2    // what is measured may become that much worse
	slowMoment  = 1e-3 // of a master's answers may be later than half of MasterTimeout
	// leastTimeout: a round decides without the slowest, so patience costs little, while a
	// master that is set aside in one busy moment has no vote until it has been probed.
	leastTimeout  = 50 * time.Millisecond
	gapPart       = 0.1 // of an occupation of the lock may be lost at a hand-over without a wake-up
	pollsPerTrip  = 10  // a poll is that many round trips after the last
	longestPoll   = 250 * time.Millisecond
	shortestPoll  = 2 * time.Millisecond
	renewalTries  = 3
	splitDraws    = 20_000
	fewSamples    = 1000
	fewRows       = 300 // 0.99^299 is below 5 %: of so many, one lies beyond the p99
	fewHolds      = 100
	gapSuspicious = 1.3
)

// maker is an advice in the making.
type maker struct {
	*Measured
	ask      Ask
	out      *Advice
	clocks   sizing.Clocks
	hold     *sizing.Law
	holdText string // as --hold takes it
	pause    sizing.Pauses
	rng      *rand.Rand

	driftWhy string
	down     lack // of the master that is missed most

	splitUp, splitDown *sizing.SplitArea // nil: the masters were not probed, or cannot be split
	contenders         int
	replicates         int // of the measurement, for spread
}

// Make gives the advice. It draws random numbers, always the same.
func Make(m *Measured, ask Ask) *Advice {
	k := newMaker(m, ask)
	k.measure()
	k.slowMaster()
	k.retries()
	k.ttl()
	k.follows()
	k.losses()
	k.survived()
	k.spread()
	k.expect()
	k.check()
	k.sensitivity()
	k.masters()
	k.concerns()
	k.out.Inputs = k.Inputs
	k.out.Warnings = append(k.out.Warnings, k.Warnings...)
	k.out.Snippet, k.out.Trial = k.out.Config.Snippet(), k.trial()
	k.out.Try = k.try()
	return k.out
}

func newMaker(m *Measured, ask Ask) *maker {
	if ask.Waiters < 1 {
		ask.Waiters = max(m.Procs, 2)
	}
	k := &maker{Measured: m, ask: ask, rng: rand.New(rand.NewPCG(1, 1)), contenders: max(ask.Waiters, 2), replicates: replicates}
	k.out = &Advice{
		Ask: ask, Impl: m.Impl, Masters: m.Masters, Settings: []Setting{}, Expected: []Chance{},
		Sensitivity: []Change{}, Warnings: []string{}, Losses: []Loss{}, Outages: []Survived{}, Caveat: Caveat,
		Plan: &Plan{Sets: []Set{}, Placed: []Placed{}, Cost: m.cost},
	}
	return k
}

// measure is what follows from the measurement before anything is chosen but MasterTimeout,
// on which the rest depends.
func (k *maker) measure() {
	k.holdAndPause()
	k.drift()
	k.down = k.withoutOne()
	k.timeout()
}

func (k *maker) setting(name, value, formula, why string, args ...any) {
	k.out.Settings = append(k.out.Settings, Setting{name, value, formula, fmt.Sprintf(why, args...), ""})
}

func (k *maker) holdAndPause() {
	k.hold, k.holdText = k.ask.Hold, k.ask.HoldText
	switch {
	case k.hold != nil:
		k.Inputs = append(k.Inputs, Input{Name: "hold", From: "asked for: " + k.ask.HoldText, Count: k.hold.N(), P50: ns(k.hold.UpperQuantile(0.5)), P99: ns(k.hold.UpperQuantile(0.01)), Max: ns(k.hold.UpperQuantile(1e-9))})
	case k.Hold != nil:
		k.hold, k.holdText = k.Hold, k.RunHold.String()
	default:
		k.hold, k.holdText = sizing.Fixed(float64(assumedHold)), assumedHold.String()
		k.input("hold", "assumed", k.hold)
		k.warn("how long you hold a lock was neither given nor measured: %s is assumed; give --hold", span(assumedHold))
	}
	k.pause = k.pauses(k.hold.Mean()+k.Acquire.Mean(), sizing.ShapePrior)
	if !k.stalls.known && k.Stall == nil {
		k.warn("pauses of the holder were not measured: the longest of the budgets, %s, stands for them", span(k.ask.Budgets.Longest()))
	}
}

// pauses is those that may begin in a time of that length.
func (k *maker) pauses(during, shape float64) sizing.Pauses {
	p := sizing.Pauses{Moments: 1}
	switch {
	case k.stalls.known:
		p = k.stalls.met(during, k.Length, shape)
	case k.Stall != nil: // each period may meet one
		p.Each, p.Moments = k.Stall, max(during/float64(bench.StallPeriod), 1)
	default:
		p.Each = sizing.Samples([]float64{0}, nil)
	}
	p.Budget = float64(k.ask.Budgets.Longest())
	return p
}

// drift sets the allowance for the clocks, jumps included once the TTL is known.
func (k *maker) drift() {
	var ppm, errs []float64
	var worst, jump float64
	for _, m := range k.Probed {
		if c := m.Clock; c != nil {
			ppm, errs = append(ppm, c.PPM), append(errs, c.PPMError)
			worst, jump = max(worst, math.Abs(c.PPM)+c.PPMError), max(jump, float64(c.JumpNs))
		}
	}
	k.clocks = sizing.EngineClocks
	k.clocks.C += jump
	k.driftWhy = "the engine's default; no clock was watched"
	if len(ppm) == 0 {
		k.warn("the clocks of the masters were not watched: Drift is the engine's default")
		return
	}
	need := sizing.DriftNeeded(ppm, errs)
	left := max(0, redlock.DefaultDrift-need) * 1e6
	k.driftWhy = fmt.Sprintf("the engine's default; %d clocks, at most %.0f ppm off, which leaves %.0f ppm for time daemons: %s", len(ppm), worst, left, slewing(left))
	if need > redlock.DefaultDrift {
		k.clocks.Rho = math.Ceil(need*1000) / 1000
		k.driftWhy = fmt.Sprintf("the clocks are up to %.0f ppm off", worst)
		k.warn("a master's clock differs by %.0f ppm: mend it", worst)
	}
	if jump >= float64(time.Millisecond) {
		k.warn("a master's clock jumped by %s: what its lease loses at once no drift covers but one this large; make its time daemon slew", text(jump))
	}
}

// retries are RetryHeld by F10 and RetrySplit by F13 and F14.
func (k *maker) retries() {
	trip := k.attempts().UpperQuantile(0.5)
	release := trip
	if k.Release != nil {
		release = k.Release.UpperQuantile(0.5)
	}
	cycle := trip + k.hold.Mean() + release
	others := max(k.contenders-1, 1)
	held := sizing.SlowestPolling(gapPart*cycle, others)
	held = min(max(held, pollsPerTrip*trip, float64(shortestPoll)), float64(longestPoll))
	c := &k.out.Config
	c.Fencing = k.Fencing
	c.RetryHeld = roundUp(time.Duration(held))
	gap := sizing.HeldPolling(c.RetryHeld).Gap(others)
	k.setting("RetryHeld", span(c.RetryHeld), "F10", "without a wake-up %d waiting would leave the lock free for %s of each %s", others, text(gap), text(cycle))

	c.RetrySplit = min(roundUp(time.Duration(4*trip)), c.RetryHeld)
	why := "four round trips: the masters were not probed"
	formula := "-"
	if k.Masters == 1 {
		why = "one master cannot be split"
	}
	if len(k.Rows) > 0 && k.Masters > 1 {
		area := func(down int) *sizing.SplitArea {
			a := sizing.MeasureSplit(k.Rows.Spreads(), k.Masters, down, splitDraws, k.rng)
			return &a
		}
		k.splitUp = area(0)
		sizedFor, down := k.splitUp, "all up"
		if k.Masters-1 >= quorum.Size(k.Masters) {
			k.splitDown = area(1)
			sizedFor, down = k.splitDown, "one down"
		}
		best := sizedFor.BestSpread(k.contenders, trip+release)
		c.RetrySplit = min(max(roundUp(time.Duration(best)), 100*time.Microsecond), c.RetryHeld)
		formula = "F13, F14"
		why = fmt.Sprintf("the shortest mean time to a decided vote of %d, %s", k.contenders, down)
	}
	k.setting("RetrySplit", span(c.RetrySplit), formula, "%s", why)
}
