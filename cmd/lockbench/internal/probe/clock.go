package probe

import (
	"cmp"
	"math"
	"slices"

	"muxlock/bench"
)

// Sample is one reading of a master's clock, in ns. The true offset lies within half
// of RTT of Offset.
type Sample struct {
	At     int64 // by the monotonic clock here: middle between sending and answer
	Offset int64 // ahead of the clock here
	RTT    int64
}

const (
	samplesMost  = 512 // kept, so that all pairs can be looked at
	samplesLeast = 8   // fewer show nothing
	firstBucket  = 10_000_000
	tenth        = 10 // the part of the samples, those with the least RTT, that is used
	tenthLeast   = 16 // but no fewer than these

	clockTick = 1_000
)

// samples keeps the reading with the shortest round trip of each stretch of time. When
// they become too many, the stretches double: those that stay are spread over all the
// time, and the best of it.
type samples struct {
	kept   []Sample // one a stretch, in order of time
	bucket int64    // length of a stretch
}

func (s *samples) add(x Sample) {
	if s.bucket == 0 {
		s.bucket = firstBucket
	}
	if last := len(s.kept) - 1; last >= 0 && s.kept[last].At/s.bucket == x.At/s.bucket {
		if x.RTT < s.kept[last].RTT {
			s.kept[last] = x
		}
		return
	}
	if len(s.kept) < samplesMost {
		s.kept = append(s.kept, x)
		return
	}
	old := s.kept
	s.kept, s.bucket = make([]Sample, 0, samplesMost), 2*s.bucket
	for _, x := range append(old, x) {
		s.add(x)
	}
}

// Clock estimates a master's clock from samples in order of time; nil if they are too
// few. It uses those with the shortest round trips. The rate is the median of the slopes
// of all pairs (Theil 1950, Sen 1968) that no step lies between; a step is a change from
// one sample to the next that neither the round trips nor a clock that is being slewed
// explain.
func Clock(all []Sample) *bench.Clock {
	if len(all) < samplesLeast {
		return nil
	}
	best := fastest(all)
	first, last := best[0], best[len(best)-1]
	watched := last.At - first.At
	if watched <= 0 {
		return nil
	}
	stretch := steady(best)
	var slopes []float64
	for i, x := range best {
		for j := i + 1; j < len(best) && stretch[j] == stretch[i]; j++ {
			slopes = append(slopes, float64(best[j].Offset-x.Offset)/float64(best[j].At-x.At))
		}
	}
	slope := median(slopes, 0)
	line := func(at int64) float64 { return slope * float64(at) }

	var begin []float64 // offsets of the first stretch, brought back to time 0
	var trips []int64
	for i, x := range best {
		trips = append(trips, x.RTT)
		if stretch[i] == 0 {
			begin = append(begin, float64(x.Offset)-line(x.At))
		}
	}
	offset, trip := median(begin, 0), median(trips, 0)
	c := &bench.Clock{
		PPM: slope * 1e6, PPMError: float64(trip) / float64(watched) * 1e6,
		OffsetNs: int64(offset), WatchedNs: watched,
	}
	for _, x := range best {
		off := math.Abs(float64(x.Offset) - offset - line(x.At))
		c.JumpNs = max(c.JumpNs, int64(off)-x.RTT/2-trip/2-clockTick) // the line, too, is only as good as its samples
	}
	return c
}

// fastest is the tenth of the samples with the shortest round trips, in order of time:
// of every eighth of the samples, so that none of it goes unseen.
func fastest(all []Sample) []Sample {
	if len(all) <= tenthLeast {
		return all
	}
	keep := max(len(all)/tenth, tenthLeast)
	var best []Sample
	const parts = 8
	for i := range parts {
		part := slices.Clone(all[i*len(all)/parts : (i+1)*len(all)/parts])
		slices.SortStableFunc(part, func(x, y Sample) int { return cmp.Compare(x.RTT, y.RTT) })
		best = append(best, part[:min(len(part), keep/parts)]...)
	}
	slices.SortFunc(best, func(x, y Sample) int { return cmp.Compare(x.At, y.At) })
	return best
}

// steadySlew is by how much a daemon that has found the right time still changes a clock's rate,
// in us a second. A clock that changes faster is being set.
const steadySlew = 500

// steady numbers the stretches between steps, for each sample.
func steady(best []Sample) []int {
	number := make([]int, len(best))
	for i := 1; i < len(best); i++ {
		x, y := best[i-1], best[i]
		explained := float64(x.RTT+y.RTT)/2 + 2*clockTick + steadySlew*1e-6*float64(y.At-x.At)
		number[i] = number[i-1]
		if math.Abs(float64(y.Offset-x.Offset)) > explained {
			number[i]++
		}
	}
	return number
}
