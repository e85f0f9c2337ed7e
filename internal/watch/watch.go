// Package watch measures the round trips and the clocks of the masters for a while, and judges them.
package watch

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"muxlock/engine/admin"
	"muxlock/internal/guard"
	"muxlock/internal/redlock"
	"muxlock/internal/stats"
	"muxlock/internal/wallclock"
)

// Master is what a watch sees of one master while it sends TIME again and again.
type Master struct {
	Addr string     `json:"addr"`       // without any password
	RTT  RoundTrips `json:"rtt"`        // of its answers
	Lost int64      `json:"lost"`       // number of TIMEs without an answer within a second
	Down float64    `json:"down_share"` // share of the watch spent on lost TIMEs
	// Clock is absent after too few answers, or where the ACL forbids TIME.
	Clock *wallclock.Clock `json:"clock,omitempty"`
}

// RoundTrips summarizes round trips.
type RoundTrips struct {
	Unit  string           `json:"unit"` // ns
	Count int              `json:"count"`
	Min   int64            `json:"min"`
	Mean  float64          `json:"mean"`
	Max   int64            `json:"max"`
	P     map[string]int64 `json:"p"` // by the names of stats.Percentiles
}

const (
	watchPause   = 5 * time.Millisecond // mean pause between an answer and the next TIME
	watchTimeout = time.Second

	slowTimes = 2                          // a median round trip above this many times the other masters' is slow
	driftWarn = 500                        // ppm: a time daemon in its steady state changes the rate by less
	driftFail = redlock.DefaultDrift * 1e6 // ppm
	stepMost  = time.Millisecond
)

// Masters sends TIME to all masters side by side, again and again until length is over or ctx ends. It judges their round
// trips and clocks, except those of a master that never answers: admin.Check reports that one.
func Masters(ctx context.Context, masters []rueidis.ClientOption, length time.Duration) (all []Master, found []admin.Finding) {
	all = make([]Master, len(masters))
	var watching sync.WaitGroup
	for i, m := range masters {
		watching.Go(func() {
			all[i].Addr = m.InitAddress[0]
			all[i].watch(ctx, m, length)
		})
	}
	watching.Wait()
	for _, judge := range []func([]Master, int) admin.Finding{roundTrip, clock} {
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

func (w *Master) watch(ctx context.Context, option rueidis.ClientOption, length time.Duration) {
	option.ForceSingleClient, option.DisableCache = true, true // a master is never a cluster
	option.DisableRetry = true
	option.Dialer.Timeout, option.ConnWriteTimeout = watchTimeout, watchTimeout
	client, err := rueidis.NewClient(guard.Option(option))
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		return
	}
	var trips []int64
	var readings []wallclock.Reading
	begin := time.Now()
	for time.Since(begin) < length && ctx.Err() == nil {
		at := time.Since(begin)
		limited, cancel := context.WithTimeout(ctx, watchTimeout)
		now, err := client.Do(limited, client.B().Time().Build()).AsIntSlice()
		cancel()
		trip := time.Since(begin) - at
		if _, refused := rueidis.IsRedisErr(err); err != nil && !refused { // a refusal is an answer: its round trip counts
			w.Lost++
			w.Down += float64(trip) / float64(length)
		} else {
			trips = append(trips, int64(trip))
		}
		if middle := int64(at + trip/2); err == nil && len(now) == 2 {
			readings = append(readings, wallclock.Reading{At: middle, Offset: now[0]*1e9 + now[1]*1e3 - begin.UnixNano() - middle, Trip: int64(trip)})
		}
		time.Sleep(watchPause/2 + rand.N(watchPause))
	}
	w.RTT, w.Clock = summary(trips), wallclock.Of(readings)
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
	for _, p := range stats.Percentiles {
		s.P[p.Name] = trips[int(p.Value*float64(s.Count)/100)]
	}
	return s
}

// roundTrip judges the round trips to master i.
func roundTrip(all []Master, i int) admin.Finding {
	w := all[i]
	us := func(p string) time.Duration { return time.Duration(w.RTT.P[p]).Round(time.Microsecond) }
	f := admin.Finding{Level: admin.LevelOK, Check: "round trip", Text: fmt.Sprintf("p50 %s, p99 %s of %d", us("50"), us("99"), w.RTT.Count)}
	var others []int64
	for j, o := range all {
		if j != i && o.RTT.Count > 0 {
			others = append(others, o.RTT.P["50"])
		}
	}
	slices.Sort(others)
	switch {
	case w.Lost > 0:
		f.Level, f.Text, f.ToDo = admin.LevelWarn, fmt.Sprintf("%s; %d got no answer", f.Text, w.Lost), "see the network, and whether it stalls"
	case len(others) > 0 && w.RTT.P["50"] > slowTimes*others[len(others)/2]:
		f.Level, f.ToDo = admin.LevelWarn, "nearer, or on a faster machine; it decides nothing as long as a majority is faster"
	}
	return f
}

// clock judges the clock of master i.
func clock(all []Master, i int) admin.Finding {
	c := all[i].Clock
	if c == nil {
		return admin.Finding{Level: admin.LevelUnknown, Check: "clock", Text: "not known: TIME is not permitted, or too few answers"}
	}
	f := admin.Finding{Level: admin.LevelOK, Check: "clock", Text: fmt.Sprintf("off by less than %d ppm, no step", driftWarn)}
	rate := fmt.Sprintf("%+.0f±%.0fppm", c.PPM, c.PPMError)
	switch least := math.Abs(c.PPM) - c.PPMError; {
	case c.JumpNs > int64(stepMost):
		f.Level, f.Text = admin.LevelWarn, fmt.Sprintf("stepped by %s: a step forward ends leases early", time.Duration(c.JumpNs).Round(time.Millisecond))
		f.ToDo = "let its time daemon slew, not step; look again for longer (--for 1m)"
	case least > driftFail:
		f.Level, f.Text, f.ToDo = admin.LevelFail, rate+": more than the engine allows for", "mend its clock, or raise Drift"
	case least > driftWarn:
		f.Level, f.Text, f.ToDo = admin.LevelWarn, rate, "see its time daemon"
	case c.PPMError > driftWarn:
		f.Level, f.Text, f.ToDo = admin.LevelUnknown, rate, "look for longer: --for 30s"
	}
	return f
}
