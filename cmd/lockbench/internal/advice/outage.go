package advice

import (
	"slices"
	"time"

	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
)

// Survived is how long an outage of the masters a renewed lease bears.
type Survived struct {
	TTL    int64   `json:"ttl_ns"`
	RTO    int64   `json:"rto_ns"`
	Outage int64   `json:"outage_ns"`  // that no lease is lost to, whenever it begins
	Lost   float64 `json:"lost"`       // of the leases, to the longest outage that was seen or is budgeted for
	Least  float64 `json:"lost_least"` // if masters are found again at once
	Most   float64 `json:"lost_most"`  // if as late as can be
}

// outages is the times in which the probes found no quorum within MasterTimeout.
func (k *maker) outages() []sizing.Outage {
	if len(k.rowsAt) != len(k.Rows) {
		return nil
	}
	return k.Rows.Outages(k.rowsAt, float64(k.out.Config.MasterTimeout), quorum.Size(k.Masters))
}

// worstOutage is the longest that was seen, or the fork of a master without which there is
// no quorum; 0: none.
func (k *maker) worstOutage() (length float64, why string) {
	if k.Masters == quorum.Size(k.Masters) {
		length, why = float64(k.ask.Budgets.Fork), "a fork of a master"
	}
	for _, o := range k.outages() {
		if o.Length > length {
			length, why = o.Length, "an outage as was seen"
		}
	}
	return length, why
}

// survived is what renewed leases of some lengths bear.
func (k *maker) survived() {
	worst, _ := k.worstOutage()
	chosen := k.out.Config.TTL
	all := append([]time.Duration{chosen / 2, chosen, 2 * chosen, 4 * chosen}, k.ask.Leases...)
	slices.Sort(all)
	for _, ttl := range slices.Compact(all) {
		if ttl != chosen && (float64(ttl) < k.outlasts() || int64(ttl) > max(k.out.TTL.Max, int64(chosen))) {
			continue
		}
		r, delta := k.renewalOf(ttl)
		s := Survived{TTL: int64(ttl), RTO: ns(float64(ttl)*(1+k.clocks.Rho) + k.gap()), Outage: ns(r.Survives(delta))}
		if worst > 0 {
			s.Lost = r.LostTo(worst, delta)
			s.Least, s.Most = r.LostBetween(worst, delta)
		}
		k.out.Outages = append(k.out.Outages, s)
	}
}

// renewalOf is how the engine renews under a TTL, and what the acquire or renewal before
// takes.
func (k *maker) renewalOf(ttl time.Duration) (r sizing.Renewal, delta float64) {
	r = sizing.Renewal{Clocks: k.clocks, TTL: float64(ttl), Every: float64(redlock.RenewalInterval(ttl)), Again: float64(redlock.RenewalRetry(ttl)), Timeout: float64(k.out.Config.MasterTimeout)}
	return r, k.Acquire.Capped(k.patience()).UpperQuantile(0.01)
}

// gap is what passes after a crashed holder's key has expired until another has the lock.
func (k *maker) gap() float64 {
	return sizing.HeldPolling(k.out.Config.RetryHeld).To + k.Acquire.UpperQuantile(0.01)
}
