package validation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/sizing"
)

// A hazard is what leases are lost to. It is measured and advised on once; then the advised
// lease and shorter ones are held side by side under the same again, and what they lose is
// compared with what the advice says of each.
type hazard struct {
	name    string
	masters int
	loads   []load
	// Masters, or with none of them the client, stand still for lasts after each every; 0:
	// once, in the midst.
	stopped      int
	every, lasts time.Duration
	// leases beside the advised one and the half and a quarter of the least.
	leases []time.Duration
	// What is asked for, where it is not the hold of the loads and hazardRTO: see outage.
	hold     string
	rto      time.Duration
	patience time.Duration // of probes; 0: their own
}

// load is operations that come at random, each of which has a name of its own.
type load struct {
	rate float64
	hold string
}

const (
	hazardEps = 1e-3 // what is rarer cannot be measured in some seconds
	hazardRTO = 10 * time.Second
)

// A hold here ends at a time of day: of a pause within it only what goes on beyond its end
// makes it longer, where the formulae take a pause for time in which nothing gets done. So
// the pauses of the client are longer than half of its lease and hold together.
var hazards = []hazard{
	{
		// The lease must outlast MasterTimeout, which is twice a stall: a hold of that length
		// leaves less of some leases than a stall takes.
		name: "all stop for 150ms every 1s", masters: 3, loads: []load{{300, "300ms"}},
		stopped: 3, every: time.Second, lasts: 150 * time.Millisecond,
		leases: []time.Duration{360 * time.Millisecond, 400 * time.Millisecond},
	},
	{
		// Of five, so that a quorum can do without it and another one.
		name: "one stops for 800ms, once", masters: 5, loads: []load{{300, "exp:40ms"}},
		stopped: 1, lasts: 800 * time.Millisecond,
	},
	{name: "the client stops for 300ms every 1.5s", masters: 3, loads: []load{{300, "50ms"}}, every: 1500 * time.Millisecond, lasts: 300 * time.Millisecond},
	{name: "two lengths of hold", masters: 3, loads: []load{{270, "10ms"}, {30, "300ms"}}},
}

var hazardSettings = func() (settings []setting) {
	for _, h := range hazards {
		settings = append(settings, setting{h.String(), 1, func(ctx context.Context, o Options) ([]Check, error) {
			return h.measure(ctx, o)
		}})
	}
	return settings
}()

func (h hazard) String() string {
	var loads []string
	for _, l := range h.loads {
		loads = append(loads, fmt.Sprintf("%g/s hold %s", l.rate, l.hold))
	}
	return fmt.Sprintf("%d masters, %s; %s", h.masters, h.name, strings.Join(loads, ", "))
}

// window is from when to when something stands still.
type window struct{ from, to time.Duration }

// windows is those of a measurement of that length.
func (h hazard) windows(length time.Duration) (all []window) {
	if h.lasts == 0 {
		return nil
	}
	from, every := (length-h.lasts)/2, length
	if h.every > 0 {
		from, every = (h.every-h.lasts)/2, h.every
	}
	for ; from >= 0 && from+h.lasts < length; from += every {
		all = append(all, window{from, from + h.lasts})
	}
	return all
}

// stops is that so many masters stand still in each of the windows.
func stops(masters int, windows ...window) (all []faults.Fault) {
	for _, w := range windows {
		for m := range masters {
			all = append(all, faults.Fault{Kind: faults.Stop, Master: m, From: w.from, To: w.to})
		}
	}
	return all
}

// law is that of all holds together.
func (h hazard) law() (*sizing.Law, error) {
	if len(h.loads) == 1 {
		return advice.HoldLaw(span(cmp.Or(h.hold, h.loads[0].hold)))
	}
	const exactly = 1_000_000 // as many samples of each: nothing of the law is a guess
	var values []float64
	var counts []int64
	for _, l := range h.loads {
		values, counts = append(values, float64(span(l.hold).Mean())), append(counts, int64(l.rate)*exactly)
	}
	return sizing.Samples(values, counts), nil
}

// advise is the advice from results under the hazard, which says what each of the returned
// leases will lose; the first is the advised one.
func (h hazard) advise(cfg bench.RunConfig, results []*bench.Result) (*advice.Advice, []time.Duration, error) {
	measured, err := advice.Measure(hazardImpl, cfg, results)
	if err != nil {
		return nil, nil, err
	}
	law, err := h.law()
	if err != nil {
		return nil, nil, err
	}
	ask := advice.Ask{
		Eps: hazardEps, RTO: cmp.Or(h.rto, hazardRTO), Hold: law, HoldText: cmp.Or(h.hold, h.loads[0].hold),
		Budgets: advice.Budgets{Collector: time.Millisecond}, // what others are for does not happen here
	}
	ask.Leases = h.candidates(advice.Make(measured, ask))
	return advice.Make(measured, ask), ask.Leases, nil
}

// candidates is what is held under the hazard: of the shorter leases those with which the
// engine can lock at all, which must outlast its MasterTimeout.
func (h hazard) candidates(a *advice.Advice) []time.Duration {
	from := time.Duration(a.TTL.Min)
	if a.Config.Renew { // by as much as the hold is longer than any lease
		from = a.Config.TTL
	}
	all := []time.Duration{a.Config.TTL}
	for _, ttl := range append([]time.Duration{from / 2, from / 4}, h.leases...) {
		if sizing.EngineClocks.Validity(float64(ttl), float64(a.Config.MasterTimeout)) > sizing.EngineClocks.C {
			all = append(all, ttl.Truncate(time.Millisecond))
		}
	}
	return all
}

// toll is what a lease cost.
type toll struct {
	ttl       time.Duration
	lost, of  int64 // quorums that came too late, or whose holds outlived the lease
	late, all int64 // acquires whose first attempt had no quorum within MasterTimeout
}

// tollChecks holds the losses of each lease against those advised (F6, and F5 in it), and
// attempts without a quorum against those expected (F4).
func tollChecks(a *advice.Advice, tolls []toll) (checks []Check) {
	var late, all int64
	for _, t := range tolls {
		late, all = late+t.late, all+t.all
		for _, l := range a.Losses {
			if l.TTL == int64(t.ttl) {
				checks = append(checks, Check{
					Formula: "F6", Quantity: "lost with a lease of " + t.ttl.String(), Unit: bench.UnitShare,
					Predicted: within(l.Lo, l.P, l.Hi), Measured: share(t.lost, t.of),
				})
			}
		}
	}
	for _, c := range a.Expected {
		if c.Formula == "F4" {
			checks = append(checks, Check{
				Formula: "F4", Quantity: "no quorum within " + a.Config.MasterTimeout.String(), Unit: bench.UnitShare,
				Predicted: within(c.Lo, c.P, c.Hi), Measured: share(late, all),
			})
		}
	}
	return checks
}

// within is a prediction with its interval.
func within(lo, v, hi float64) Estimate {
	return Estimate{Value: v, Lo: math.Min(lo, v), Hi: math.Max(v, hi)}
}
