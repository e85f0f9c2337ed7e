package advice

import (
	"maps"
	"math"
	"slices"

	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/quorum"
)

// Plan is what people guess before they buy machines: how many masters and where, what one
// name bears, what a lock costs.
type Plan struct {
	Sets   []Set    `json:"sets"`   // empty: the masters were not probed
	Placed []Placed `json:"placed"` // any masters, evenly in zones
	Hot    Hot      `json:"hot"`
	Cost   *Cost    `json:"cost,omitempty"` // absent: the servers did not tell what they used
}

// Set is masters to lock on. The times are of a quorum of round trips, sent at once as an
// attempt sends them; 0: there is no quorum then, or it is not known.
type Set struct {
	Size    int      `json:"size"`
	Masters []int    `json:"masters"` // numbers, from 1, of those measured; empty: more masters, modelled on those
	Zones   []string `json:"zones,omitempty"`
	P50     int64    `json:"p50_ns"`
	P99     int64    `json:"p99_ns"`
	OneDown int64    `json:"p99_one_down_ns"` // without the master that is missed most
	MayFail int      `json:"may_fail"`        // masters
	// Of sets with Zones.
	SurvivesZone bool    `json:"survives_zone,omitempty"`
	Unavailable  float64 `json:"unavailable,omitempty"`
}

// Placed is so many masters in so many zones.
type Placed struct {
	Masters      int     `json:"masters"`
	Zones        int     `json:"zones"`
	SurvivesZone bool    `json:"survives_zone"`
	Unavailable  float64 `json:"unavailable"` // the part of the time without a quorum
}

// Availability where nobody says another: an outage of 9 h a year of each master, restarts
// with their wait included, and of an hour of each zone.
const (
	DefaultMasterUp = 0.999
	DefaultZoneUp   = 0.9999
)

// sizes is how many masters are looked at beside those measured; most zones likewise.
var sizes = []int{1, 3, 5}

const mostZones = 3

// masters is how many, which and where.
func (k *maker) masters() {
	p := k.out.Plan
	all := append(slices.Clone(sizes), k.Masters)
	slices.Sort(all)
	for _, n := range slices.Compact(all) {
		for zones := 1; zones <= min(n, mostZones); zones++ {
			in := sizing.EvenSpread(n, zones)
			p.Placed = append(p.Placed, Placed{n, zones, sizing.SurvivesZone(in), k.unavailable(in)})
		}
		p.Sets = append(p.Sets, k.sets(n)...)
	}
	if len(k.ask.Zones) > 0 && k.Masters > 2 && !sizing.SurvivesZone(k.zones(sizing.FirstN(k.Masters))) {
		k.warn("the loss of one zone leaves no quorum: put no zone in charge of more than %d of %d masters", k.Masters-quorum.Size(k.Masters), k.Masters)
	}
}

func (k *maker) unavailable(zones []int) float64 {
	n := 0
	for _, in := range zones {
		n += in
	}
	return sizing.Unavailable(zones, quorum.Size(n), k.ask.MasterUp, k.ask.ZoneUp)
}

// sets is the fastest set of n of the masters and, where zones are known, the fastest that
// survives the loss of any.
func (k *maker) sets(n int) (sets []Set) {
	switch {
	case len(k.Rows) == 0:
	case n == k.Masters:
		sets = append(sets, k.set(sizing.FirstN(k.Masters)))
	case n < k.Masters:
		sets = append(sets, k.set(k.Rows.Fastest(n, func([]int) bool { return true })))
		if len(k.ask.Zones) > 0 && !sets[0].SurvivesZone {
			if other := k.Rows.Fastest(n, func(set []int) bool { return sizing.SurvivesZone(k.zones(set)) }); other != nil {
				sets = append(sets, k.set(other))
			}
		}
	case k.Masters > 2:
		s := Set{Size: n, Masters: []int{}, MayFail: n - quorum.Size(n)}
		if law, failed := k.Rows.More(n, k.rng); law != nil && failed < 0.01 {
			s.P50, s.P99 = ns(law.UpperQuantile(0.5)), ns(law.UpperQuantile(0.01))
		}
		sets = append(sets, s)
	}
	return sets
}

// set is some of the masters, counted from 0.
func (k *maker) set(of []int) Set {
	n := len(of)
	times := k.Rows.TimesOf(of, quorum.Size(n))
	s := Set{Size: n, P50: known(sizing.QuantileOf(times, 0.5)), P99: known(sizing.QuantileOf(times, 0.99)), OneDown: known(k.Rows.OneDown(of)), MayFail: n - quorum.Size(n)}
	for _, i := range of {
		s.Masters = append(s.Masters, i+1)
		if len(k.ask.Zones) > 0 {
			s.Zones = append(s.Zones, k.ask.Zones[i])
		}
	}
	if len(s.Zones) > 0 {
		in := k.zones(of)
		s.SurvivesZone, s.Unavailable = sizing.SurvivesZone(in), k.unavailable(in)
	}
	return s
}

// zones is how many of the masters are in each zone.
func (k *maker) zones(of []int) []int {
	in := map[string]int{}
	for _, i := range of {
		in[k.ask.Zones[i]]++
	}
	return slices.Sorted(maps.Values(in))
}

// known is a time, or 0 when there is none.
func known(x float64) int64 {
	if math.IsInf(x, 1) {
		return 0
	}
	return ns(x)
}
