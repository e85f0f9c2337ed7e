package advice

import (
	"fmt"
	"time"

	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/redlock"
)

// Hot is what the busiest name bears.
type Hot struct {
	Rate float64 `json:"rate"` // its acquisitions a second, asked for or by the load; 0: unknown
	Ways []Way   `json:"ways"`
}

// Way is how a name changes hands.
type Way struct {
	How      string  `json:"how"`
	PerS     float64 `json:"per_s"`              // at most
	Occupied float64 `json:"occupied,omitempty"` // part of the time, at Rate; from 1 on waiting grows without end
	Wait     int64   `json:"mean_wait_ns,omitempty"`
}

const (
	busy   = 0.7                       // from there on a little more load is much more waiting
	wakeUp = float64(time.Microsecond) // of a goroutine, when a lock is handed over in memory
	yields = 4                         // spreads, that a process waits after its turn
)

// hottest is F10 and F11: what one name can do, and how long is waited for it.
func (k *maker) hottest() {
	trip, release := k.Acquire, k.Release
	if k.shared && k.Quorum != nil { // hand-overs in memory took no trip, and leases that were handed over are old
		trip, release = k.Quorum, k.Quorum
	}
	if release == nil {
		release = trip
	}
	acquire, hold := trip.Mean(), k.hold.Mean()+wakeUp
	trips := acquire + release.Mean()
	spread := float64(redlock.WakeSpread(time.Duration(acquire)))
	// A lease goes from hand to hand until the first release after that time: as many holds,
	// and what the last of them is longer, on average (Wald).
	holders := max((float64(redlock.DefaultHandOverTime)+k.hold.Moment(2)/(2*hold))/hold, 1)
	polls := sizing.HeldPolling(k.out.Config.RetryHeld).Gap(max(k.contenders-1, 1))
	hot := &k.out.Plan.Hot
	if hot.Rate = k.ask.Rate; hot.Rate == 0 {
		hot.Rate = k.hotRate
	}
	variance := 0.0
	for _, l := range []*sizing.Law{trip, k.hold, release} {
		variance += l.Moment(2) - l.Moment(1)*l.Moment(1)
	}
	queue := func(how string, gap float64) (q sizing.Queue) { // gap: all but acquire, hold and release
		each := acquire + hold + release.Mean() + gap // of F10
		q = sizing.Queue{Lambda: hot.Rate / 1e9, Service: [2]float64{each, variance + each*each}}
		w := Way{How: how, PerS: 1e9 / each, Occupied: q.Load()}
		if q.Load() < 1 {
			w.Wait = ns(q.MeanWait())
		}
		hot.Ways = append(hot.Ways, w)
		return q
	}
	q := queue("in one process, in memory", (trips+yields*spread)/holders-trips)
	// Release and push are one way each, the next acquire is a round trip, after a part of
	// the spread.
	woken := queue("between processes, woken", spread/2)
	queue(fmt.Sprintf("between processes, polling, %s", span(k.out.Config.RetryHeld)), polls)
	if k.ask.Waiters > 1 {
		q = woken
	}
	k.setting("one name", fmt.Sprintf("%s/s", number(1e9/woken.Service[0])), "F10", "most acquisitions of one name between processes, each after a wake-up at once")
	switch u := q.Load(); {
	case hot.Rate <= 0:
		return
	case u >= 1:
		k.warn("%s is more than one name can do: waiting grows without end", units.Rate(hot.Rate))
		return
	case u > busy:
		k.warn("the busiest name is occupied for %.0f%% of the time, with %s: it is waited for %s on average, and much longer when it gets a little busier. Split it, or hold it for less", 100*u, units.Rate(hot.Rate), text(q.MeanWait()))
	}
	p99 := 0.0
	for step := q.MeanWait() / 16; step > 0 && q.WaitsLonger(p99) > 0.01; {
		p99 += step
	}
	k.setting("wait", text(q.MeanWait()), "F11", "mean for a name with %s (occupied %.0f%%); p99 %s in no order", units.Rate(hot.Rate), 100*q.Load(), text(p99))
}
