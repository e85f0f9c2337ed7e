package advice

import (
	"fmt"
	"slices"

	"muxlock/cmd/lockbench/internal/sizing"
)

// Spread is how far apart the same advice may come out when it is measured again: where 90 %
// of the measurements lie that might have been made instead.
type Spread struct {
	TTLMin        [2]int64 `json:"ttl_min_ns"`
	TTL           [2]int64 `json:"ttl_ns"`
	MasterTimeout [2]int64 `json:"master_timeout_ns"`
}

const (
	spreadConfidence = 0.9
	// drawnConfidence is more than that: of some dozen groups of stalls a bootstrap knows
	// too little of how much else there might have been. (200 measurements of 20 s of six
	// made-up hosts: 90 % and more hold the truth.)
	drawnConfidence = 0.95
	blocks          = 30
	// Narrow is the ratio of the ends of an interval that is narrow enough.
	Narrow = 1.5
)

// replicates is how many measurements are drawn; fewer in most tests.
var replicates = 100

// Width is the largest ratio of the ends of the intervals.
func (s Spread) Width() (ratio float64) {
	for _, of := range [][2]int64{s.TTLMin, s.TTL, s.MasterTimeout} {
		ratio = max(ratio, float64(of[1])/float64(max(of[0], 1)))
	}
	return ratio
}

// Loss is what a lease of that length costs: the trade between RTO and eps.
type Loss struct {
	TTL int64   `json:"ttl_ns"`
	RTO int64   `json:"rto_ns"` // how long a crashed holder blocks others with it
	P   float64 `json:"p"`      // of losing validity while held, without renewal
	Lo  float64 `json:"lo"`     // 90 %, as Spread
	Hi  float64 `json:"hi"`
	// Beyond: what is rarer than was measured decides; budgets cover what they name.
	Beyond bool `json:"beyond"`
}

// losses is the leases around those advised.
func (k *maker) losses() {
	least, t := k.out.TTL.Min, k.out.TTL
	all := []int64{least / 4, least / 2, least, int64(k.out.Config.TTL), t.Max}
	for _, ttl := range k.ask.Leases {
		all = append(all, int64(ttl))
	}
	slices.Sort(all)
	for _, ttl := range slices.Compact(all) {
		if ttl <= 0 {
			continue
		}
		p, beyond := k.loss(float64(ttl))
		k.out.Losses = append(k.out.Losses, Loss{TTL: ttl, RTO: ns(float64(ttl)*(1+k.clocks.Rho) + k.gap()), P: p, Lo: p, Hi: p, Beyond: beyond})
	}
}

// loss is the probability to lose a lease of that length while it is held.
func (k *maker) loss(ttl float64) (p float64, beyond bool) {
	p = k.clocks.LossHolding(ttl, k.Acquire.Capped(k.patience()), k.hold, k.pause)
	return p, !k.pause.Reaches(p)
}

// spread makes the advice again from measurements that are drawn from this one in blocks.
func (k *maker) spread() {
	n := len(k.out.Losses)
	drawn := make([][]float64, 3+n)
	for range k.replicates {
		r := &maker{Measured: k.again(), ask: k.ask, out: &Advice{}, clocks: k.clocks, hold: k.hold, holdText: k.holdText, rng: k.rng, down: k.down}
		r.out.Config.RetryHeld = k.out.Config.RetryHeld
		r.pause = r.pauses(k.hold.Mean()+r.Acquire.Mean(), sizing.DrawShape(k.rng))
		r.timeout()
		r.ttl()
		for i, v := range []float64{float64(r.out.TTL.Min), float64(r.out.Config.TTL), float64(r.out.Config.MasterTimeout)} {
			drawn[i] = append(drawn[i], v)
		}
		r.out.Config.MasterTimeout = k.out.Config.MasterTimeout // under which the leases are
		for i, l := range k.out.Losses {
			p, _ := r.loss(float64(l.TTL))
			drawn[3+i] = append(drawn[3+i], p)
		}
	}
	ends := func(values []float64) (lo, hi float64) {
		slices.Sort(values)
		cut := int(float64(len(values)) * (1 - drawnConfidence) / 2)
		return values[cut], values[len(values)-1-cut]
	}
	s := &k.out.Spread
	for i, of := range []*[2]int64{&s.TTLMin, &s.TTL, &s.MasterTimeout} {
		lo, hi := ends(drawn[i])
		*of = [2]int64{ns(lo), ns(hi)}
	}
	for i := range k.out.Losses {
		l := &k.out.Losses[i]
		l.Lo, l.Hi = ends(drawn[3+i])
	}
	for i := range k.out.Settings {
		of, known := map[string][2]int64{"TTL at least": s.TTLMin, "TTL": s.TTL, "MasterTimeout": s.MasterTimeout}[k.out.Settings[i].Name]
		if known {
			k.out.Settings[i].Spread = fmt.Sprintf("%s to %s", text(float64(of[0])), text(float64(of[1])))
		}
	}
}

// again is a measurement that might have been made instead of this one.
func (k *maker) again() *Measured {
	m := *k.Measured
	m.Inputs, m.Warnings = nil, nil
	b := sizing.DrawBlocks(max(k.Length, 1), blocks, k.rng)
	if m.stalls.known {
		m.stalls = k.stalls.picked(b)
	}
	if m.grants.known {
		m.grants = k.grants.picked(b)
		m.Acquire = m.Acquire.WithTail(m.grants.from, m.grants.long).GroupTail(m.grants.at, m.grants.long, float64(clusterGap), groupsOf(k.Length), sizing.DrawShape(k.rng))
	}
	if len(m.rowsAt) > 0 {
		var trips []float64
		picked, _ := b.Pick(m.rowsAt)
		for _, i := range picked {
			trips = append(trips, k.trips[i])
		}
		if law, _ := sizing.FiniteTimes(trips); law != nil {
			m.Quorum = law
		}
	}
	return &m
}
