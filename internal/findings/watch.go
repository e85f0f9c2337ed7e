package findings

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// Watched is what was seen of a master while it was asked for its time over and over.
type Watched struct {
	Addr  string     `json:"addr"`            // without any password
	RTT   RoundTrips `json:"rtt"`             // of its answers
	Lost  int64      `json:"lost"`            // questions that it did not answer within a second
	Down  float64    `json:"down_share"`      // part of the time that they took
	Clock *Clock     `json:"clock,omitempty"` // absent: too few answers, or TIME is not permitted
}

// RoundTrips is a summary of them.
type RoundTrips struct {
	Unit  string           `json:"unit"` // ns
	Count int              `json:"count"`
	Min   int64            `json:"min"`
	Mean  float64          `json:"mean"`
	Max   int64            `json:"max"`
	P     map[string]int64 `json:"p"` // "50", "90", "99", "99.9", "99.99"
}

// Clock is a master's wall clock against the monotonic clock here.
type Clock struct {
	PPM       float64 `json:"ppm"`        // it gains that many us a second, steps included; below 0: it loses
	PPMError  float64 `json:"ppm_error"`  // less than this cannot be seen
	JumpNs    int64   `json:"jump_ns"`    // largest step between two answers, beyond what their round trips explain
	OffsetNs  int64   `json:"offset_ns"`  // ahead of the wall clock here, at the begin
	WatchedNs int64   `json:"watched_ns"` // between the first answer and the last
}

// A reading of a master's clock, in ns. The true offset lies within half of trip of it.
type reading struct{ at, offset, trip int64 }

const (
	watchPause    = 5 * time.Millisecond // mean time between an answer and the next question
	watchTimeout  = time.Second
	leastReadings = 8

	slowTimes = 2                          // a round trip beside the median of the other masters'
	driftWarn = 500                        // ppm: a time daemon that has found the right time changes a rate by less
	driftFail = redlock.DefaultDrift * 1e6 // ppm
	stepMost  = time.Millisecond
)

// Watch asks all masters side by side for their time, over and over until length is over or ctx
// ends, and judges their round trips and clocks. Of one that is away, which Check finds, it finds
// nothing.
func Watch(ctx context.Context, masters []pipeline.Master, length time.Duration) (all []Watched, found []Finding) {
	all = make([]Watched, len(masters))
	var watching sync.WaitGroup
	for i, m := range masters {
		watching.Go(func() {
			all[i].Addr = m.Address
			all[i].watch(ctx, m.Option, length)
		})
	}
	watching.Wait()
	for _, judge := range []func([]Watched, int) Finding{roundTrip, clock} {
		for i, w := range all {
			if w.RTT.Count > 0 {
				f := judge(all, i)
				f.Masters = []int{i + 1}
				found = append(found, f)
			}
		}
	}
	return all, found
}

func (w *Watched) watch(ctx context.Context, option rueidis.ClientOption, length time.Duration) {
	client, err := connect(option, watchTimeout)
	if err != nil {
		return
	}
	defer client.Close()
	var trips []int64
	var readings []reading
	begin := time.Now()
	for time.Since(begin) < length && ctx.Err() == nil {
		at := time.Since(begin)
		asking, cancel := context.WithTimeout(ctx, watchTimeout)
		now, err := client.Do(asking, client.B().Time().Build()).AsIntSlice()
		cancel()
		trip := time.Since(begin) - at
		if _, refused := rueidis.IsRedisErr(err); err != nil && !refused { // a refusal comes as fast as any answer
			w.Lost++
			w.Down += float64(trip) / float64(length)
		} else {
			trips = append(trips, int64(trip))
		}
		if middle := int64(at + trip/2); err == nil && len(now) == 2 {
			readings = append(readings, reading{middle, now[0]*1e9 + now[1]*1e3 - begin.UnixNano() - middle, int64(trip)})
		}
		time.Sleep(watchPause/2 + rand.N(watchPause))
	}
	w.RTT, w.Clock = summary(trips), clockOf(readings)
}

func summary(trips []int64) RoundTrips {
	s := RoundTrips{Unit: "ns", Count: len(trips), P: map[string]int64{}}
	if s.Count == 0 {
		return s
	}
	slices.Sort(trips)
	for _, t := range trips {
		s.Mean += float64(t) / float64(s.Count)
	}
	s.Min, s.Max = trips[0], trips[s.Count-1]
	for name, q := range map[string]float64{"50": 0.5, "90": 0.9, "99": 0.99, "99.9": 0.999, "99.99": 0.9999} {
		s.P[name] = trips[int(q*float64(s.Count))]
	}
	return s
}

// clockOf compares the best readings of the first quarter and of the last.
func clockOf(all []reading) *Clock {
	n := len(all)
	if n < leastReadings {
		return nil
	}
	byTrip := func(x, y reading) int { return cmp.Compare(x.trip, y.trip) }
	first, last := slices.MinFunc(all[:n/4], byTrip), slices.MinFunc(all[n-n/4:], byTrip)
	apart := float64(last.at-first.at) / 1e6
	c := &Clock{
		PPM: float64(last.offset-first.offset) / apart, PPMError: float64(first.trip+last.trip) / 2 / apart,
		OffsetNs: first.offset, WatchedNs: all[n-1].at - all[0].at,
	}
	for i, x := range all[1:] {
		step := max(x.offset-all[i].offset, all[i].offset-x.offset)
		c.JumpNs = max(c.JumpNs, step-(x.trip+all[i].trip)/2)
	}
	return c
}

// roundTrip judges the round trips to a master.
func roundTrip(all []Watched, i int) Finding {
	w := all[i]
	us := func(p string) time.Duration { return time.Duration(w.RTT.P[p]).Round(time.Microsecond) }
	f := Finding{Level: OK, Check: "round trip", Text: fmt.Sprintf("p50 %s, p99 %s of %d", us("50"), us("99"), w.RTT.Count)}
	var others []int64
	for j, o := range all {
		if j != i && o.RTT.Count > 0 {
			others = append(others, o.RTT.P["50"])
		}
	}
	slices.Sort(others)
	switch {
	case w.Lost > 0:
		f.Level, f.Text, f.ToDo = Warn, fmt.Sprintf("%s; %d got no answer", f.Text, w.Lost), "see the network, and whether it stalls"
	case len(others) > 0 && w.RTT.P["50"] > slowTimes*others[len(others)/2]:
		f.Level, f.ToDo = Warn, "nearer, or on a faster machine; it decides nothing as long as a majority is faster"
	}
	return f
}

// clock judges the clock of a master.
func clock(all []Watched, i int) Finding {
	c := all[i].Clock
	if c == nil {
		return Finding{Level: Unknown, Check: "clock", Text: "not known: TIME is not permitted, or too few answers"}
	}
	f := Finding{Level: OK, Check: "clock", Text: fmt.Sprintf("off by less than %d ppm, no step", driftWarn)}
	rate := fmt.Sprintf("%+.0f±%.0fppm", c.PPM, c.PPMError)
	switch least := math.Abs(c.PPM) - c.PPMError; {
	case c.JumpNs > int64(stepMost):
		f.Level, f.Text = Warn, fmt.Sprintf("stepped by %s: a step forward ends leases early", time.Duration(c.JumpNs).Round(time.Millisecond))
		f.ToDo = "let its time daemon slew, not step; look again for longer (--for 1m)"
	case least > driftFail:
		f.Level, f.Text, f.ToDo = Fail, rate+": more than the engine allows for", "mend its clock, or raise Drift"
	case least > driftWarn:
		f.Level, f.Text, f.ToDo = Warn, rate, "see its time daemon"
	case c.PPMError > driftWarn:
		f.Level, f.Text, f.ToDo = Unknown, rate, "look for longer: --for 30s"
	}
	return f
}
