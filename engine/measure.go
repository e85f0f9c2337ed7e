package engine

import (
	"cmp"
	"context"
	"math/bits"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/peaks"
	"muxlock/internal/redlock"
)

// Measurements is how long leases of this process have to last, as Config.Measure measured it. lockbench advise --from
// reads it as JSON, and says which TTL and timeouts to choose. Version 1 of that form may gain fields. All its times are
// ns.
type Measurements struct {
	Version int           `json:"version"`    // of the form; 0: Config.Measure is not set, and all else is empty
	Begin   time.Time     `json:"begin"`      // when New returned
	Span    time.Duration `json:"span_ns"`    // from Begin until now
	Masters []string      `json:"masters"`    // addresses, without passwords, in the order of Config.Masters
	Fencing bool          `json:"fencing"`    // as in Config
	MaxTTL  time.Duration `json:"max_ttl_ns"` // as in Config, or its default
	Groups  int           `json:"groups"`     // of as many masters each; more than 1 with package groups only

	// Acquires has, for each lock that was won at the masters, how much of its validity was gone when its
	// caller got it: the time since the winning attempt was sent. HandOvers has the same for each lock that
	// was handed over within the process, or passed on by another one with a short lease.
	Acquires  Durations `json:"acquires"`
	HandOvers Durations `json:"hand_overs"`
	// Holds has the times from then to the call of Release, of all names together. A lock that is never
	// released does not count. RenewedHolds has those of locks that KeepAlive (Do, Lead) or Extend renewed:
	// they outlast any lease. Renewed counts such locks, those that are not released too.
	Holds        Durations `json:"holds"`
	RenewedHolds Durations `json:"renewed_holds"`
	Renewed      int64     `json:"renewed"`
	// LongestTTL is the longest ttl that a lock was acquired or extended with.
	LongestTTL time.Duration `json:"longest_ttl_ns"`
	// Pauses has the delays of a thread that sleeps 10 ms at a time. The machine, the scheduler and the
	// garbage collector may take as much from a holder at any moment.
	Pauses Durations `json:"pauses"`
}

// Durations is a histogram of times, and a list of the longest: a lease is chosen by what comes once a week.
type Durations struct {
	Count   int64    `json:"count"`
	Buckets []Bucket `json:"buckets"` // in rising order, those that are empty left out
	// Longest has up to 2000 times in the order in which they were, also counted in Buckets. It has every
	// time above LongestFrom, and some times equal to it.
	LongestFrom time.Duration `json:"longest_from_ns"`
	Longest     []Moment      `json:"longest"`
}

// Bucket counts times that are at most Most, and less than a sixteenth below it.
type Bucket struct {
	Most  time.Duration `json:"most_ns"`
	Count int64         `json:"count"`
}

// Moment is one time, and when it was: since Measurements.Begin. A pause was when it began.
type Moment struct {
	At   time.Duration `json:"at_ns"`
	Took time.Duration `json:"took_ns"`
}

func (m Moment) length() int64 { return int64(m.Took) }

// Measured returns the measurements so far: the zero value unless Config.Measure is set. No I/O. It sees no pauses after
// Close.
func (e *Engine) Measured() Measurements {
	m := e.record.measure
	if m == nil {
		return Measurements{}
	}
	all := Measurements{
		Version: 1, Begin: m.began, Masters: []string{}, Fencing: e.cfg.Fencing, MaxTTL: e.cfg.MaxTTL,
		Holds: m.holds.snapshot(), RenewedHolds: m.renewedHolds.snapshot(), // first: no hold is without its acquire
	}
	all.Renewed, all.LongestTTL = m.renewed.Load(), time.Duration(m.longestTTL.Load())
	all.Acquires, all.HandOvers, all.Pauses = m.acquires.snapshot(), m.handOvers.snapshot(), m.pauses.snapshot()
	all.Span = clock.Now().Sub(m.begin) // after the last that is in it
	for _, one := range e.masters.pipe.Stats().Masters {
		all.Masters = append(all.Masters, one.Address)
	}
	all.Groups = len(all.Masters) / e.masters.number // which has those of one
	return all
}

const (
	// pausePeriod is how long the thread that sees pauses sleeps at a time.
	pausePeriod = 10 * time.Millisecond
	// leastPause is the shortest pause in Longest: a master rounds a lease by as much.
	leastPause = time.Millisecond
)

// measures is nil unless Config.Measure is set.
type measures struct {
	began time.Time
	begin clock.Instant // the same

	acquires, handOvers, holds, renewedHolds, pauses durations

	renewed    atomic.Int64
	longestTTL atomic.Int64 // ns
}

func newMeasures() *measures {
	m := &measures{began: time.Now(), begin: clock.Now()}
	m.pauses.from.Store(int64(leastPause))
	return m
}

// watch records pauses until closing is closed.
func (m *measures) watch(closing <-chan struct{}) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("muxlock", "pauses")))
	clock.WatchStalls(pausePeriod, closing, func(due clock.Instant, late time.Duration) { m.pauses.add(due.Sub(m.begin), late) })
}

// acquired is called with the shard's mutex held.
func (m *measures) acquired(l *Lock, attempts int) {
	into := &m.acquires
	if attempts == 0 || l.lease.renewal.short {
		into = &m.handOvers
	}
	used := redlock.Validity(l.lease.renewal.ttl, 0, l.lease.renewal.drift) - l.lease.renewal.until.Left(l.since)
	into.add(l.since.Sub(m.begin), used)
	m.asked(l.lease.longest)
}

// extended notes that a holder's wish let its lease live on, for the first time or again.
func (m *measures) extended(l *Lock) {
	if !l.renewed {
		l.renewed = true
		m.renewed.Add(1)
	}
	m.asked(l.lease.longest)
}

func (m *measures) asked(ttl time.Duration) {
	for {
		longest := m.longestTTL.Load()
		if int64(ttl) <= longest || m.longestTTL.CompareAndSwap(longest, int64(ttl)) {
			return
		}
	}
}

func (m *measures) released(l *Lock, at clock.Instant) {
	into := &m.holds
	if l.renewed {
		into = &m.renewedHolds
	}
	if !l.since.IsZero() { // else its caller never had it
		into.add(at.Sub(m.begin), at.Sub(l.since))
	}
}

// durations is a Durations under construction.
type durations struct {
	counts [bucketCount]atomic.Int64
	from   atomic.Int64 // ns; changes under mu

	mu      sync.Mutex // guards the following; a leaf: taken under any lock, none is taken under it
	longest []Moment
}

func (d *durations) add(at, took time.Duration) {
	took = max(took, 0)
	d.counts[bucketOf(took)].Add(1)
	if int64(took) < d.from.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	longest, from := peaks.Keep(d.longest, Moment{at, took}, d.from.Load(), Moment.length)
	d.longest = longest
	d.from.Store(from)
}

func (d *durations) snapshot() Durations {
	d.mu.Lock() // before the counts are read: each of the longest is counted
	s := Durations{Buckets: []Bucket{}, LongestFrom: time.Duration(d.from.Load()), Longest: append([]Moment{}, d.longest...)}
	d.mu.Unlock()
	for i := range d.counts {
		if n := d.counts[i].Load(); n > 0 {
			s.Count += n
			s.Buckets = append(s.Buckets, Bucket{mostIn(i), n})
		}
	}
	slices.SortFunc(s.Longest, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	return s
}

// A power of two has 16 buckets; below 32 ns each has its own.
const (
	bucketBits  = 4
	bucketCount = (64 - bucketBits) << bucketBits
)

func bucketOf(d time.Duration) int {
	shift := max(0, bits.Len64(uint64(d))-bucketBits-1)
	return shift<<bucketBits + int(d>>shift)
}

// mostIn returns the longest time in a bucket.
func mostIn(bucket int) time.Duration {
	shift := max(0, bucket>>bucketBits-1)
	return time.Duration(bucket-shift<<bucketBits+1)<<shift - 1
}
