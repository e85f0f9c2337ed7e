// Package wallclock estimates another machine's clock from readings over a network.
package wallclock

import (
	"cmp"
	"math"
	"slices"
)

// Reading is one look at the clock, in ns. The true offset lies within half of Trip of Offset.
type Reading struct {
	At     int64 // by the monotonic clock here: middle between question and answer
	Offset int64 // ahead of the clock here
	Trip   int64 // from question to answer
}

// Clock is a wall clock against the monotonic clock here.
type Clock struct {
	PPM       float64 `json:"ppm"`        // it gains that many us a second between steps; below 0: it loses
	PPMError  float64 `json:"ppm_error"`  // less than this cannot be seen
	JumpNs    int64   `json:"jump_ns"`    // largest step between two readings, beyond what explains it
	OffsetNs  int64   `json:"offset_ns"`  // ahead of the wall clock here, at the begin
	WatchedNs int64   `json:"watched_ns"` // between the first reading and the last
}

const (
	least = 8     // readings, between steps, too; fewer show nothing
	tick  = 1_000 // of TIME, in ns
	// slew is by how much a daemon that has found the right time still changes a clock's rate.
	// A clock that changes faster is being set.
	slew   = 500e-6
	unseen = 1e6 // ppm
)

// Of estimates a clock from readings in order of time; nil if they are too few. The rate is of the
// longest stretch without a step: from the reading with the shortest trip in its first quarter to
// that in its last.
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
	usual := slopes[len(slopes)/2] // few of them have a step
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

// unexplained is the change between two readings that neither the usual rate, nor their trips, nor a
// clock that is being slewed explain; 0 or less: none.
func unexplained(x, y Reading, usual float64) int64 {
	apart := float64(y.At - x.At)
	explained := float64(x.Trip+y.Trip)/2 + 2*tick + slew*apart
	return int64(math.Abs(float64(y.Offset-x.Offset)-usual*apart) - explained)
}

func fastest(all []Reading) Reading {
	return slices.MinFunc(all, func(x, y Reading) int { return cmp.Compare(x.Trip, y.Trip) })
}
