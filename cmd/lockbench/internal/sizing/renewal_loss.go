package sizing

import "math"

// Renewal is F7: a lease that its holder's client renews in the background. The next
// renewal goes out Every after the last was confirmed; one that fails is tried again
// after Again. Each try takes at most Timeout.
type Renewal struct {
	Clocks
	TTL, Every, Again, Timeout float64
}

// Tries is how many renewals have room before validity ends, beside an acquire or
// renewal that took delta and a pause of the client.
func (r Renewal) Tries(delta, pause float64) int {
	room := r.Validity(r.TTL, delta) - r.Every - pause
	if room < r.Timeout {
		return 0
	}
	return 1 + int((room-r.Timeout)/(r.Timeout+r.Again))
}

// Loss is the probability to lose the lock in one period: all tries that a pause of the
// client leaves room for fail, each with probability fails independently of the others.
// With n tries where nothing pauses it is the sum of P(room for j) * fails^j, which
// summed by parts needs only P(room for fewer than j). A pause that is feared therefore
// counts as often as it comes, and no lease gets worse by being longer.
func (r Renewal) Loss(fails, delta float64, pause Pauses) float64 {
	room := r.Validity(r.TTL, delta) - r.Every
	some := 1.0 // fails^(j-1)
	loss := 0.0
	for j := range r.Tries(delta, 0) {
		late := pause.Survival(room - r.Timeout - float64(j)*(r.Timeout+r.Again))
		loss += late * some * (1 - fails)
		some *= fails
	}
	return loss + some
}

// Within is the probability that something that happens with probability p in each
// period happens at least once in time.
func Within(p, time, period float64) float64 {
	return -math.Expm1(time / period * math.Log1p(-min(p, 1)))
}

// ShortestRenewed is the least lease that leaves room for tries renewals when Every and
// Again are the given parts of it.
func (c Clocks) ShortestRenewed(tries int, every, again, timeout, delta, pause float64) float64 {
	n := float64(tries)
	usable := 1 - c.Rho - every - (n-1)*again
	if usable <= 0 {
		return math.Inf(1)
	}
	return (c.C + delta + pause + n*timeout) / usable
}

// ShortestSurviving is the least lease that an outage of that length does not end.
func (c Clocks) ShortestSurviving(outage, every, again, timeout, delta float64) float64 {
	return c.ShortestRenewed(2, every, again, timeout, delta, outage+redial(outage)-timeout)
}
