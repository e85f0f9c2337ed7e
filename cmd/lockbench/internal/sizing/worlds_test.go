package sizing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

// A world has a holder and three masters. It simulates the rules of Redlock in virtual time: who
// sends when, who stalls, who answers. It does not use the formulas of the package.
type world struct {
	name  string
	hold  func(*rand.Rand) time.Duration // nil: held for an hour, and renewed
	every time.Duration                  // mean time between two stalls
	lasts time.Duration                  // mean length of a stall; each is half to one and a half times as long
	who   []int                          // who stalls: a master from 0 to 2, or holder
}

const (
	holder  = 3
	measure = 20 * time.Second
	arrive  = time.Millisecond // mean time between two acquires
	hour    = time.Hour
)

func exponential(r *rand.Rand) time.Duration {
	return time.Duration(200e6 * r.ExpFloat64())
}
func lognormal(r *rand.Rand) time.Duration { return time.Duration(100e6 * math.Exp(r.NormFloat64())) }
func pareto(r *rand.Rand) time.Duration {
	return time.Duration(100e6 * math.Pow(1-r.Float64(), -1/2.5))
}

var worlds = func() (all []world) {
	stalls := []world{
		{name: "the holder stalls every second", every: time.Second, lasts: 60 * time.Millisecond, who: []int{holder}},
		{name: "the holder stalls once a minute", every: time.Minute, lasts: 800 * time.Millisecond, who: []int{holder}},
		{name: "all masters stall every second", every: time.Second, lasts: 100 * time.Millisecond, who: []int{0, 1, 2}},
		{name: "all masters stall once a minute", every: time.Minute, lasts: time.Second, who: []int{0, 1, 2}},
		{name: "one master stalls every second", every: time.Second, lasts: 300 * time.Millisecond, who: []int{1}},
	}
	for _, hold := range []struct {
		name string
		law  func(*rand.Rand) time.Duration
	}{{"exponential", exponential}, {"lognormal", lognormal}, {"Pareto", pareto}, {"an hour, renewed", nil}} {
		for _, w := range stalls {
			w.name, w.hold = hold.name+": "+w.name, hold.law
			all = append(all, w)
		}
	}
	return all
}()

// course is one run of a world.
type course struct {
	rng    *rand.Rand
	stalls [4][]Moment // of the masters and of the holder, in order
	back   [3]time.Duration
}

func (w world) course(rng *rand.Rand, length time.Duration) *course {
	c := &course{rng: rng}
	for at := time.Duration(0); ; {
		at += time.Duration(rng.ExpFloat64() * float64(w.every))
		if at > length {
			return c
		}
		m := Moment{At: at, Took: w.lasts/2 + time.Duration(rng.Float64()*float64(w.lasts))}
		for _, who := range w.who {
			c.stalls[who] = append(c.stalls[who], m)
		}
		at += m.Took
	}
}

// free returns when who is not stalled, at or after at.
func (c *course) free(who int, at time.Duration) time.Duration {
	i, found := slices.BinarySearchFunc(c.stalls[who], at, func(m Moment, at time.Duration) int { return int(m.At - at) })
	if !found {
		i--
	}
	if i >= 0 {
		return max(at, c.stalls[who][i].At+c.stalls[who][i].Took)
	}
	return at
}

// works returns when the holder has done so much work.
func (c *course) works(from, work time.Duration) time.Duration {
	end := from + work
	i, _ := slices.BinarySearchFunc(c.stalls[holder], from, func(m Moment, at time.Duration) int { return int(m.At - at) })
	for ; i < len(c.stalls[holder]) && c.stalls[holder][i].At < end; i++ {
		end += c.stalls[holder][i].Took
	}
	return end
}

// trip returns when the answer of a master arrives.
func (c *course) trip(master int, at time.Duration) time.Duration {
	way := func() time.Duration { return time.Duration(500e3 * math.Exp(0.3*c.rng.NormFloat64())) }
	return c.free(master, at+way()) + way()
}

// attempt returns when the holder knows the outcome of an attempt, and whether it won. A master
// without an answer in time is dialled again some time after its stall.
func (c *course) attempt(at, timeout time.Duration) (end time.Duration, won bool) {
	var answers []time.Duration
	for master := range 3 {
		if at < c.back[master] {
			continue
		}
		answer := c.trip(master, at)
		if answer-at > timeout {
			away := answer - at
			c.back[master] = answer + time.Duration(c.rng.Float64()*1.5*float64(min(away, time.Second)))
			continue
		}
		answers = append(answers, answer)
	}
	if len(answers) < 2 {
		return c.free(holder, at+timeout), false
	}
	slices.Sort(answers)
	return c.free(holder, answers[1]), true
}

// measured returns a measurement of 20 s of a world.
func (w world) measured(rng *rand.Rand) Measured {
	c := w.course(rng, measure+time.Minute)
	m := Measured{Masters: 3, Procs: 1, Watched: measure}
	for _, p := range c.stalls[holder] {
		if p.At < measure {
			m.Pauses = append(m.Pauses, p)
		}
	}
	var used, held []time.Duration
	outlived := int64(0)
	for at := time.Duration(0); at < measure; at += time.Duration(rng.ExpFloat64() * float64(arrive)) {
		begin := c.free(holder, at)
		end, won := c.attempt(begin, time.Second)
		if !won || end > measure {
			continue
		}
		used = append(used, end-begin)
		if w.hold == nil {
			outlived++
		} else if released := c.works(end, w.hold(rng)); released > measure+5*time.Second { // its drain
			outlived++
		} else {
			held = append(held, released-end)
		}
	}
	m.Acquires = Count(used, nil, 0)
	m.Holds = Count(held, nil, outlived)
	for at := time.Duration(0); at < measure; at += time.Duration(rng.ExpFloat64() * float64(10*time.Millisecond)) {
		begin := c.free(holder, at)
		r := Round{At: begin, Trips: make([]time.Duration, 3)}
		for i := range r.Trips {
			if r.Trips[i] = c.free(holder, c.trip(i, begin)) - begin; r.Trips[i] > time.Second {
				r.Trips[i] = -1
			}
		}
		m.Rounds = append(m.Rounds, r)
		if took, won := r.took(2); !won {
			m.Slow = append(m.Slow, Moment{At: begin, Took: -10 * time.Millisecond})
		} else if took >= LeastTimeout {
			m.Slow = append(m.Slow, Moment{At: begin, Took: took})
		}
	}
	return m
}

// loss returns the share of locks lost in a world with that lease.
func (w world) loss(seed uint64, cfg Config, ttl time.Duration) float64 {
	const holds, hours = 20_000, 5
	rng := rand.New(rand.NewPCG(seed, 7))
	valid := ttl - time.Duration(cfg.Drift*float64(ttl)) - 2*time.Millisecond
	lost := 0
	if w.hold == nil {
		for range hours {
			if w.course(rng, hour).losesRenewed(cfg.MasterTimeout, ttl, valid) {
				lost++
			}
		}
		return float64(lost) / hours
	}
	const apart = 10 * time.Millisecond
	c := w.course(rng, holds*apart*2)
	for i := range holds {
		begin := c.free(holder, time.Duration(i)*apart+time.Duration(rng.Float64()*float64(apart)))
		end, won := c.attempt(begin, cfg.MasterTimeout)
		for !won {
			begin = c.free(holder, end+time.Duration(rng.Float64()*float64(cfg.RetryHeld)))
			end, won = c.attempt(begin, cfg.MasterTimeout)
		}
		if c.works(end, w.hold(rng))-begin > valid {
			lost++
		}
	}
	return float64(lost) / holds
}

// losesRenewed reports whether a renewed lock is lost within an hour.
func (c *course) losesRenewed(timeout, ttl, valid time.Duration) bool {
	at, won := c.attempt(0, timeout)
	for !won {
		at, won = c.attempt(at+time.Millisecond, timeout)
	}
	until := valid
	for at < hour {
		begin := c.free(holder, at+ttl/3)
		end, won := c.attempt(begin, timeout)
		for !won && end < until {
			begin = c.free(holder, end+ttl/24)
			end, won = c.attempt(begin, timeout)
		}
		if end > until {
			return true
		}
		at, until = end, begin+valid
	}
	return false
}

// least returns the shortest lease that loses no larger share.
func (w world) least(seed uint64, cfg Config, share float64) time.Duration {
	from, to := cfg.MasterTimeout, time.Minute // a lease must outlast MasterTimeout
	for to-from > from/20 {
		if middle := time.Duration(math.Sqrt(float64(from) * float64(to))); w.loss(seed, cfg, middle) > share {
			from = middle
		} else {
			to = middle
		}
	}
	return to
}

const eps = 1e-3

func TestWhatFollowsIsAtMostWhatWasSaid(t *testing.T) {
	t.Parallel()
	const seed = 1
	require.Len(t, worlds, 20)
	kept := 0
	for i, w := range worlds {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		m := w.measured(rng)
		ask := Ask{Eps: eps, RTO: 30 * time.Second, Pause: 500 * time.Millisecond}
		share := eps
		if w.hold == nil {
			long := bench.Fixed(hour)
			ask.Hold, share = &long, 0
		}
		s := Size(m, ask)
		require.Empty(t, s.Lacks, w.name)
		lost := w.loss(seed, s.Config, s.Config.TTL)
		if lost <= s.Lost {
			kept++
		}

		ask.Pause = 0 // nothing is assumed
		seen := Size(m, ask)
		least := w.least(seed, seen.Config, share)
		t.Logf("%-50s TTL %6s, lost %.5f, said %.5f; nothing assumed: %6s, least %6s, %.1f times",
			w.name, s.Config.TTL, lost, s.Lost, seen.Config.TTL, least.Round(time.Millisecond), float64(seen.Config.TTL)/float64(least))
		assert.LessOrEqual(t, seen.Config.TTL, 3*least, w.name)
		if w.hold == nil && w.every == time.Second {
			assert.Zero(t, lost, w.name) // no stall of this world is missing in 20 s
		}
	}
	require.GreaterOrEqual(t, kept, 19)
}
