package sizing

import (
	"math"
	"time"

	"muxlock/internal/redlock"
)

// Outages of a quorum last, so that renewals which fail do not fail independently of each
// other (F7). A lease was last renewed at some moment before an outage began, up to Every;
// after its end masters are dialled again within RedialWithin, and one more try must end
// before validity does.

// Survives is the length of outage that no lease is lost to, whenever it begins.
func (r Renewal) Survives(delta float64) float64 {
	room := r.Validity(r.TTL, delta) - r.Every - r.Again - r.Timeout
	outage := 0.0
	for step := room / 2; step > 1; step /= 2 { // the wait after it grows with it
		if next := outage + step; next+redial(next) <= room {
			outage = next
		}
	}
	return outage
}

// LostTo is the probability that a lease is lost to an outage of that length which begins
// at any moment, as its end lies in a pause between two dials.
func (r Renewal) LostTo(outage, delta float64) (p float64) {
	const parts = 20
	for i := range parts {
		p += r.lostAfter(outage+redial(outage)*leftOfPause((float64(i)+0.5)/parts), delta) / parts
	}
	return p
}

// LostBetween is the same where masters are found again at once, and as late as can be: all
// leases of a client wait for the same ones.
func (r Renewal) LostBetween(outage, delta float64) (least, most float64) {
	return r.lostAfter(outage, delta), r.lostAfter(outage+redial(outage), delta)
}

// lostAfter is LostTo when masters are away for so long, the wait included.
func (r Renewal) lostAfter(away, delta float64) float64 {
	left := r.Validity(r.TTL, delta) - away - (r.Again+r.Timeout)/2
	return max(0, min(1-left/r.Every, 1))
}

// leftOfPause is what is left of a pause at a random moment, as a share of the longest: the
// quantile u. Pauses are even between a third of the longest and that; a longer one is met
// more often.
func leftOfPause(u float64) float64 {
	const longest = 1.5 // of the mean
	if u < 0.5 {
		return u / longest
	}
	return 1 - math.Sqrt(2-2*u)/longest
}

func redial(outage float64) float64 {
	return float64(redlock.RedialWithin(time.Duration(outage)))
}

// An Outage is a time in which fewer than a quorum answered.
type Outage struct{ At, Length float64 }

// Outages is the times in which attempts that begin at the given times find no quorum
// within tau. An attempt that is answered late shows when the outage ended; one that never
// is says that it lasts until the next begins.
func (r Rows) Outages(at []float64, tau float64, q int) (all []Outage) {
	end := 0.0
	for i, row := range r {
		answers := sorted(row)
		failed := len(answers) < q
		if !failed && answers[q-1] <= tau {
			continue
		}
		until := at[i]
		if !failed {
			until += answers[q-1]
		} else if i+1 < len(at) {
			until = at[i+1]
		}
		if n := len(all); n > 0 && at[i] <= end {
			all[n-1].Length = max(all[n-1].Length, until-all[n-1].At)
		} else {
			all = append(all, Outage{at[i], until - at[i]})
		}
		end = max(end, until)
	}
	return all
}
