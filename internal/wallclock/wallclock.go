// Package wallclock estimates another machine's clock from readings over a network.
package wallclock

import (
	"cmp"
	"math"
	"slices"
)

// Reading is one reading of the other clock, in ns. The true offset is within half of Trip of Offset.
type Reading struct {
	At     int64 // by the local monotonic clock: the middle between question and answer
	Offset int64 // how far the other clock is ahead of the local one
	Trip   int64 // from question to answer
}

// Clock describes a wall clock relative to the local monotonic clock.
type Clock struct {
	PPM       float64 `json:"ppm"`        // rate between steps: microseconds gained per second; below 0: lost
	PPMError  float64 `json:"ppm_error"`  // uncertainty of PPM
	JumpNs    int64   `json:"jump_ns"`    // largest step between two readings, less what trips and rates explain
	OffsetNs  int64   `json:"offset_ns"`  // ahead of the local wall clock, at the start
	WatchedNs int64   `json:"watched_ns"` // from the first reading to the last
}

const (
	least = 8     // readings needed, also between two steps
	tick  = 1_000 // resolution of TIME, in ns
	// slew is how much a time daemon in its steady state changes a clock's rate. A faster change is a step.
	slew   = 500e-6
	unseen = 1e6 // PPMError, if the rate is not known
)

// Of estimates a clock from readings in order of time. It returns nil if there are too few. It takes the rate from the
// longest stretch without a step. The rate's two readings are those with the shortest trips, one in the first quarter of
// the stretch and one in the last.
func Of(all []Reading) *Clock {
	if len(all) < least || all[len(all)-1].At <= all[0].At {
		return nil
	}
	c := &Clock{WatchedNs: all[len(all)-1].At - all[0].At}
	var slopes []float64
	for i, x := range all[1:] {
		slopes = append(slopes, float64(x.Offset-all[i].Offset)/float64(max(x.At-all[i].At, 1)))
	}
	slices.Sort(slopes)
	usual := slopes[len(slopes)/2] // the median, since few slopes contain a step
	var longest []Reading
	from := 0
	for i := 1; i <= len(all); i++ {
		if i < len(all) {
			step := unexplained(all[i-1], all[i], usual)
			if step <= 0 {
				continue
			}
			c.JumpNs = max(c.JumpNs, step)
		}
		if stretch := all[from:i]; len(stretch) > len(longest) {
			longest = stretch
		}
		from = i
	}
	quarter := (len(longest) + 3) / 4
	first, last := fastest(longest[:quarter]), fastest(longest[len(longest)-quarter:])
	if apart := float64(last.At - first.At); len(longest) >= least && apart > 0 {
		c.PPM, c.PPMError = float64(last.Offset-first.Offset)/apart*1e6, float64((first.Trip+last.Trip)/2+tick)/apart*1e6
	} else {
		c.PPMError = unseen
	}
	begin := fastest(all[:len(all)/4])
	c.OffsetNs = begin.Offset - int64(c.PPM/1e6*float64(begin.At-all[0].At))
	return c
}

// unexplained returns how much of the change between two readings is a step: the change less what the usual rate, the
// trips and slewing explain. 0 or less means no step.
func unexplained(x, y Reading, usual float64) int64 {
	apart := float64(y.At - x.At)
	explained := float64(x.Trip+y.Trip)/2 + 2*tick + slew*apart
	return int64(math.Abs(float64(y.Offset-x.Offset)-usual*apart) - explained)
}

func fastest(all []Reading) Reading {
	return slices.MinFunc(all, func(x, y Reading) int { return cmp.Compare(x.Trip, y.Trip) })
}
