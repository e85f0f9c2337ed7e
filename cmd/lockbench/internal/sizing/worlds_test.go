package sizing_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/cmd/lockbench/internal/view"
	"muxlock/engine"
)

// A world has a holder and three masters. It simulates the rules of Redlock in virtual time: who sends
// when, who stalls, who answers. It does not use the formulas of the package. Its measurement is a load's
// result, or what an engine measured in a process.
type world struct {
	name    string
	hold    func(*rand.Rand) time.Duration
	kept    bool          // the locks are renewed
	stalls  []stalls      // of the holder and of the masters
	way     time.Duration // median of one way to a master
	fencing bool          // a tenth of the acquires take a second round trip
	process bool          // measured by a process; else by a load
	given   string        // --hold
	rto     time.Duration // 0: none
	watched time.Duration // 0: 20 s, by a process two minutes
	want    string        // what the advice must say
}

// stalls have a mean time between them, and a mean length: each is half to one and a half times as long.
type stalls struct {
	every, lasts time.Duration
	who          []int // masters from 0 to 2, or holder
	cluster      int   // so many in a row, a length apart; 0: one
}

const (
	ms     = time.Millisecond
	holder = 3
	hour   = time.Hour
)

func exponential(r *rand.Rand) time.Duration { return time.Duration(200e6 * r.ExpFloat64()) }
func logNormal(r *rand.Rand) time.Duration   { return time.Duration(100e6 * math.Exp(r.NormFloat64())) }
func pareto(r *rand.Rand) time.Duration {
	return time.Duration(100e6 * math.Pow(1-r.Float64(), -1/2.5))
}
func twoPeaks(r *rand.Rand) time.Duration {
	return time.Duration((20e6 + 1980e6*math.Floor(r.Float64()+0.1)) * (0.8 + 0.4*r.Float64()))
}
func aMinute(r *rand.Rand) time.Duration { return time.Duration(60e9 * (0.8 + 0.4*r.Float64())) }
func anHour(*rand.Rand) time.Duration    { return hour }

var (
	often     = []stalls{{every: 2 * time.Second, lasts: 200 * ms, who: []int{holder}}}
	rarely    = []stalls{{every: time.Minute, lasts: time.Second, who: []int{holder}}}
	clustered = []stalls{{every: 10 * time.Second, lasts: 300 * ms, who: []int{holder}, cluster: 5}}
	ofAll     = []stalls{{every: 2 * time.Second, lasts: 200 * ms, who: []int{0, 1, 2, holder}}}
	oneAway   = []stalls{{every: 10 * time.Second, lasts: 2 * time.Second, who: []int{1}}}
	mostAway  = []stalls{{every: 5 * time.Second, lasts: time.Second, who: []int{0, 1}}}
	near      = 500 * time.Microsecond
	distant   = 40 * ms
	worlds    = []world{
		{name: "exponential", hold: exponential, rto: 10 * time.Second},
		{name: "exponential, fencing", hold: exponential, stalls: often, fencing: true, rto: 3 * time.Second},
		{name: "exponential, from a process", hold: exponential, stalls: often, process: true},
		{name: "exponential, clustered", hold: exponential, stalls: clustered, rto: 5 * time.Minute},
		{name: "exponential, all stall", hold: exponential, stalls: ofAll, rto: 10 * time.Second},
		{name: "exponential, rarely", hold: exponential, stalls: rarely, process: true, rto: 3 * time.Second},
		{name: "exponential, far", hold: exponential, stalls: often, way: distant, rto: 10 * time.Second},
		{name: "exponential, far, fencing", hold: exponential, way: distant, fencing: true, process: true, rto: 10 * time.Second},
		{name: "lognormal", hold: logNormal},
		{name: "lognormal, often", hold: logNormal, stalls: often, rto: 10 * time.Second},
		{name: "lognormal, clustered, from a process", hold: logNormal, stalls: clustered, process: true, rto: 10 * time.Second},
		{name: "lognormal, one away", hold: logNormal, stalls: oneAway, rto: 10 * time.Second},
		{name: "Pareto", hold: pareto, process: true, rto: 10 * time.Second},
		{name: "Pareto, often", hold: pareto, stalls: often, rto: 5 * time.Minute},
		{name: "Pareto, a majority away", hold: pareto, stalls: mostAway, rto: 10 * time.Second},
		{name: "two peaks", hold: twoPeaks, stalls: often, rto: 10 * time.Second},
		{name: "two peaks, short rto", hold: twoPeaks, stalls: often, process: true, rto: 3 * time.Second, want: "Renew the locks"},
		{name: "two peaks, rarely", hold: twoPeaks, stalls: rarely},
		{name: "a minute, short watch", hold: aMinute, stalls: often, rto: 5 * time.Minute, want: "not released when the measurement ended"},
		{name: "a minute, given", hold: aMinute, stalls: often, given: "1m", rto: 5 * time.Minute, want: "Renew the locks"},
		{name: "a minute, long watch", hold: aMinute, stalls: rarely, process: true, watched: 10 * time.Hour, want: "Renew the locks"},
		{name: "an hour, rarely", hold: anHour, kept: true, stalls: rarely, rto: 10 * time.Second},
		{name: "an hour, rarely, from a process", hold: anHour, kept: true, stalls: rarely, process: true, rto: 10 * time.Second},
		{name: "an hour, often, short rto", hold: anHour, kept: true, stalls: often, process: true, rto: 3 * time.Second},
		{name: "an hour, given, one away", hold: anHour, stalls: oneAway, given: "1h", rto: 10 * time.Second, want: "Renew the locks"},
		{name: "an hour, a majority away", hold: anHour, kept: true, stalls: mostAway, rto: 10 * time.Second},
		{name: "an hour, a majority away, rto too short", hold: anHour, kept: true, stalls: mostAway, rto: time.Second, want: "TOO SHORT"},
		{name: "an hour, far, all stall", hold: anHour, kept: true, stalls: ofAll, way: distant},
		{name: "an hour, a majority away for long", hold: anHour, kept: true, stalls: []stalls{{every: 6 * time.Minute, lasts: 25 * time.Second, who: []int{0, 2}}},
			watched: 20 * time.Minute, rto: 5 * time.Minute, fencing: true, want: "MaxTTL must grow from 30s to 100s, at the masters M"},
	}
)

// course is one run of a world.
type course struct {
	world
	rng    *rand.Rand
	stalls [4][]sizing.Moment // of the masters and of the holder, in order
	back   [3]time.Duration
}

func (w world) course(rng *rand.Rand, length time.Duration) *course {
	c := &course{world: w, rng: rng}
	for _, s := range w.stalls {
		for at := time.Duration(0); at < length; {
			at += time.Duration(rng.ExpFloat64() * float64(s.every))
			for range max(s.cluster, 1) {
				m := sizing.Moment{At: at, Took: s.lasts/2 + time.Duration(rng.Float64()*float64(s.lasts))}
				for _, who := range s.who {
					c.stalls[who] = append(c.stalls[who], m)
				}
				at += m.Took + s.lasts/3
			}
		}
	}
	return c
}

// at returns the index of the first stall that begins after at.
func (c *course) after(who int, at time.Duration) int {
	return sort.Search(len(c.stalls[who]), func(i int) bool { return c.stalls[who][i].At > at })
}

// free returns when who is not stalled, at or after at.
func (c *course) free(who int, at time.Duration) time.Duration {
	if i := c.after(who, at) - 1; i >= 0 {
		return max(at, c.stalls[who][i].At+c.stalls[who][i].Took)
	}
	return at
}

// works returns when the holder has done so much work.
func (c *course) works(from, work time.Duration) time.Duration {
	end := from + work
	for i := c.after(holder, from); i < len(c.stalls[holder]) && c.stalls[holder][i].At < end; i++ {
		end += c.stalls[holder][i].Took
	}
	return end
}

// ways are the quantiles of a way to a master, by its median: logarithms are drawn from a normal distribution.
var ways = func() (all [1 << 14]float64) {
	for i := range all {
		all[i] = math.Exp(0.3 * math.Sqrt2 * math.Erfinv((2*float64(i)+1)/float64(len(all))-1))
	}
	return all
}()

// trip returns when the answer of a master arrives.
func (c *course) trip(master int, at time.Duration) time.Duration {
	way := func() time.Duration {
		return time.Duration(float64(max(c.way, near)) * ways[c.rng.Uint32()%uint32(len(ways))])
	}
	return c.free(master, at+way()) + way()
}

// attempt returns when the holder knows the outcome of an attempt, and whether it won. A master without an
// answer in time is dialled again some time after its stall.
func (c *course) attempt(at, timeout time.Duration, acquire bool) (end time.Duration, won bool) {
	answers := make([]time.Duration, 0, 3)
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
	if acquire && c.fencing && c.rng.IntN(10) == 0 {
		return c.attempt(answers[1], timeout, false)
	}
	return c.free(holder, answers[1]), true
}

// measure returns what a measurement of a course sees, and the holds that ended.
func (c *course) measure(length time.Duration) (m sizing.Measured, held []time.Duration) {
	m = sizing.Measured{Masters: 3, Watched: length, Fencing: c.fencing}
	var used []time.Duration
	open, kept := int64(0), int64(0)
	apart := max(ms, length/20_000) // mean time between two acquires
	for at := time.Duration(0); at < length; at += time.Duration(c.rng.ExpFloat64() * float64(apart)) {
		begin := c.free(holder, at)
		end, won := c.attempt(begin, time.Second, true)
		if !won || end > length {
			continue
		}
		used = append(used, end-begin)
		hold, drain := c.hold(c.rng), 5*time.Second
		released := c.free(holder, end+hold) // a load's holds are timers
		took := released - end
		if c.process { // those of a process are work, counted without the pauses
			released, took, drain = c.works(end, hold), hold, 0
		}
		switch {
		case c.kept:
			kept++
		case released > length+drain:
			open++
		default:
			held = append(held, took)
		}
	}
	m.Acquires, m.Renewed = sizing.Count(used, nil, 0), sizing.Count(nil, nil, kept)
	if c.given == "" {
		m.Holds = sizing.Count(held, nil, open)
	}
	c.back = [3]time.Duration{}
	for at, next := time.Duration(0), time.Duration(0); at < length && !c.process; at = next {
		next = at + time.Duration(c.rng.ExpFloat64()*float64(20*ms))
		r, answers := sizing.Round{At: c.free(holder, at)}, []time.Duration(nil)
		for i := range 3 {
			took := c.free(holder, c.trip(i, r.At)) - r.At
			if took > time.Second {
				took = -1
			} else {
				answers = append(answers, took)
			}
			r.Trips = append(r.Trips, took)
		}
		slices.Sort(answers)
		m.Rounds = append(m.Rounds, r)
		if len(answers) < 2 {
			m.Slow = append(m.Slow, sizing.Moment{At: r.At, Took: -max(c.free(holder, next)-r.At, 1)})
		} else if answers[1] >= sizing.LeastTimeout {
			m.Slow = append(m.Slow, sizing.Moment{At: r.At, Took: answers[1]})
		}
	}
	for _, p := range c.stalls[holder] {
		if p.At < length {
			m.Pauses = append(m.Pauses, p)
		}
	}
	return m, held
}

// lost returns how many of the locks are lost on a course of such a length with that lease. A lock that is
// renewed is held for the whole time.
func (c *course) lost(cfg sizing.Config, ttl, length time.Duration, locks int) (lost int) {
	valid := ttl - ttl/100 - 2*ms
	for i := range locks {
		c.back = [3]time.Duration{}
		begin := c.free(holder, time.Duration(float64(i)*float64(length)/float64(locks)))
		if cfg.Renew {
			begin = c.free(holder, time.Duration(c.rng.Float64()*float64(ttl)))
		}
		end, won := c.attempt(begin, cfg.MasterTimeout, true)
		for !won {
			begin = c.free(holder, end+time.Duration(c.rng.Float64()*25e6))
			end, won = c.attempt(begin, cfg.MasterTimeout, true)
		}
		if cfg.Renew && c.losesRenewed(end, begin+valid, cfg.MasterTimeout, ttl, valid, length) ||
			!cfg.Renew && c.works(end, c.hold(c.rng))-begin > valid {
			lost++
		}
	}
	return lost
}

// losesRenewed reports whether a renewed lock that was acquired at a time is lost before the end.
func (c *course) losesRenewed(at, until, timeout, ttl, valid, length time.Duration) bool {
	for at < length {
		begin := c.free(holder, at+min(ttl/3, max(until-at-ttl/2, ttl/24))) // sooner if half of the lease is gone
		if begin >= length {
			break
		}
		end, won := c.attempt(begin, timeout, false)
		for !won && end < until {
			begin = c.free(holder, end+ttl/24)
			end, won = c.attempt(begin, timeout, false)
		}
		if end > until {
			return true
		}
		at, until = end, begin+valid
	}
	return false
}

// printed returns the advice as people see it.
func printed(s sizing.Sizes, ask sizing.Ask) string {
	var all strings.Builder
	doc := result.Document{Advice: &result.Advice{Ask: ask, Sizes: s, Try: "lockbench run"}}
	for _, block := range view.New(doc, nil, "").Body {
		all.WriteString(block.Line + "\n")
	}
	return all.String()
}

// number returns the time, or the number, that a pattern finds in an advice.
func number(t *testing.T, text, pattern string) float64 {
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.NotNil(t, found, "%s\n%s", pattern, text)
	if found[1] == "-" {
		return 0
	}
	d, err := time.ParseDuration(found[1])
	if err == nil {
		return float64(d)
	}
	var v float64
	_, err = fmt.Sscan(strings.ReplaceAll(found[1], ",", ""), &v)
	require.NoError(t, err, text)
	return v
}

func requireNear(t *testing.T, want, got time.Duration, text string) {
	require.InDelta(t, float64(want), float64(got), 0.06*float64(want)+float64(ms), text) // two digits are printed
}

// end returns when the measurement ends for those who replay it: before an outage that it saw only in part.
func (c *course) end(length time.Duration) time.Duration {
	for _, all := range c.stalls[:holder] {
		for _, one := range all {
			if one.At < length && one.At+one.Took > length-5*time.Second {
				return one.At
			}
		}
	}
	return length - 5*time.Second
}

// Each number of an advice is held against the world that it is about.
func TestWhatFollowsIsAtMostWhatWasSaid(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic in one goroutine, for a hundred seconds with the race detector")
	}
	t.Parallel()
	const locks, hours = 5000, 3
	said := 0
	for i, w := range worlds {
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		length := max(w.watched, 20*time.Second)
		if w.process && !w.kept {
			length = max(length, 2*time.Minute)
		}
		c := w.course(rng, length+hour)
		saw, held := c.measure(length)
		ask := sizing.Ask{RTO: w.rto}
		if w.given != "" {
			span, err := bench.ParseSpan(w.given)
			require.NoError(t, err)
			ask.Hold = &span
		}
		s := sizing.Size(saw, ask)
		if s.Lacks != "" {
			require.Contains(t, s.Lacks, w.want, w.name)
			require.NotEmpty(t, w.want, "%s: %s", w.name, s.Lacks)
			continue
		}
		text := w.name + "\n" + printed(s, ask)
		require.Contains(t, text, w.want)
		ttl, unkept := s.Config.TTL, !s.Config.Renew

		// The setting is what the user allows.
		if w.rto > 0 {
			require.LessOrEqual(t, s.Blocks, w.rto, text)
		}
		require.True(t, ttl <= s.InUse || s.Needed > s.InUse && ttl == s.Config.MaxTTL, text)
		require.NoError(t, engine.Config{Masters: []string{"a:1", "b:1", "c:1"}, TTL: ttl, MaxTTL: s.Config.MaxTTL, MasterTimeout: s.Config.MasterTimeout, Fencing: s.Config.Fencing}.Validate(), text)
		require.Equal(t, s.Advised(), strings.Contains(text, "engine.Config{"), text)
		require.Equal(t, s.Missed, strings.Contains(text, "TOO SHORT"), text)

		// What was seen is what is said.
		if pause := time.Duration(number(t, text, `\n  pause +(\S+)`)); unkept {
			most := time.Duration(0) // by brute force, from each place that may be the worst
			work, within := s.Acquire+s.Hold.Took, *c
			within.stalls[holder] = saw.Pauses
			for i := range saw.Pauses {
				most = max(most, within.works(saw.Pauses[i].At-1, work)-saw.Pauses[i].At+1-work)
			}
			requireNear(t, most, pause, text)
			if w.given == "" {
				requireNear(t, s.Hold.Took, slices.Max(held), text)
				require.EqualValues(t, len(held), number(t, text, `the longest of ([\d,]+)`), text)
			}
		} else {
			for _, p := range saw.Pauses {
				require.GreaterOrEqual(t, float64(pause)*1.06+1, float64(p.Took), text)
			}
			require.Equal(t, w.process, strings.Contains(text, "not watched"), text)
			require.False(t, len(w.stalls) > 0 && !slices.Contains(w.stalls[0].who, 0) && strings.Contains(text, "the longest without a quorum"), text)
		}

		// A crashed holder blocks for no longer than is said, while the masters answer.
		quiet, blocks := w, float64(s.Blocks)
		quiet.stalls = nil
		if s.Advised() {
			blocks = number(t, text, `blocks others for up to (\S+)`)
		}
		for range 300 {
			q := quiet.course(rng, 0)
			expired := q.trip(rng.IntN(3), 0) + time.Duration(float64(ttl)*1.005) // by a clock that is slow
			again := expired + time.Duration((0.5+rng.Float64())*25e6)
			end, won := q.attempt(again, time.Minute, true)
			require.True(t, won)
			require.LessOrEqual(t, float64(end), blocks, text)
		}

		// What the measurement shows is not lost with the TTL, nor with what is needed.
		on, end := *c, c.end(length)
		if w.given == "" && !w.kept {
			on.hold = func(r *rand.Rand) time.Duration { return held[r.IntN(len(held))] }
		}
		if s.Advised() {
			require.LessOrEqual(t, float64(on.lost(s.Config, ttl, end, 500))/500, float64(s.Lost)/float64(s.Replayed)+0.005, text)
		}
		least := max(s.Needed, sizing.RoundUp(s.Config.MasterTimeout*11/10+4*ms))
		if len(w.stalls) == 0 || len(w.stalls[0].who) < 4 { // a stall of all looks like one of the holder, which costs no connections
			require.LessOrEqual(t, on.lost(s.Config, least, end, 300), 3, "needed: %s", text)
		}

		// What comes after it is within the bound.
		lost, most := 0.0, math.Inf(1)
		switch {
		case s.Missed:
		case unkept:
			lost = float64(w.course(rng, hour).lost(s.Config, ttl, hour-time.Minute, locks)) / locks
			most = number(t, text, `at most ([\d.]+)% of the locks`) / 100
		default:
			for range hours {
				lost += float64(w.course(rng, hour+time.Minute).lost(s.Config, ttl, hour, 1))
			}
			most = float64(hours*hour) / number(t, text, `come at most once in (\S+)\.\n`)
			require.False(t, strings.HasPrefix(w.name, "an hour, rarely") && lost > 0, text)
		}
		if lost <= most {
			said++
		} else {
			t.Log("OUTSIDE ", text)
		}
	}
	require.Less(t, len(worlds)-said, 3, "a bound is right in 95 of 100, and one world is refused")
}
