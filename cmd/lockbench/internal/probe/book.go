package probe

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/bench"
	"muxlock/internal/peaks"
	"muxlock/internal/quorum"
	"muxlock/internal/wallclock"
)

// rowsMost limits the rows of a Report. A few thousand rows show the tail of an attempt, and keep
// a result small.
const rowsMost = 2000

// slowLeast is the shortest time of a quorum that is kept in any case: no advised MasterTimeout is
// shorter.
const slowLeast = 50 * time.Millisecond

// row is one probe of every master. Each lane and the conductor call end once; the last call
// hands the row to the book.
type row struct {
	book   *book
	number int
	at     time.Duration
	next   time.Duration // start of the next row; 0: none; set by the conductor
	rtt    []int64       // of each master, set by its lane or the conductor; -1: lost
	left   atomic.Int32
}

func (r *row) answered(lane int, took time.Duration) {
	r.rtt[lane] = max(int64(took), 1)
	r.end()
}

func (r *row) lost(lane int) {
	r.rtt[lane] = -1
	r.end()
}

func (r *row) end() {
	if r.left.Add(-1) == 0 {
		r.book.add(r)
	}
}

// quorum returns the time in which a majority had answered; never: math.MaxInt64.
func (r *row) quorum() int64 {
	rtt := slices.Clone(r.rtt)
	for i, ns := range rtt {
		if ns < 0 {
			rtt[i] = math.MaxInt64
		}
	}
	slices.Sort(rtt)
	return rtt[quorum.Size(len(rtt))-1]
}

// book collects complete rows.
type book struct {
	names   []string
	timeout time.Duration
	base    time.Time // set before the first row

	begun int  // rows; owned by the conductor, like last
	last  *row // begun

	mu      sync.Mutex // guards the following
	seen    int        // complete rows
	kept    []*row     // at most rowsMost, each row as likely as any other
	slow    []*row     // whose quorum took longest
	slower  int64      // least time, in ns, of a row for slow
	rtt     []*bench.Histogram
	lost    []int64
	seconds [][]int64 // medians of the past seconds
	open    [][]int64 // round trips of the current second, by master
	length  time.Duration
}

func newBook(names []string, timeout time.Duration) *book {
	b := &book{names: names, timeout: timeout, lost: make([]int64, len(names)), open: make([][]int64, len(names)), last: &row{}, slower: int64(slowLeast)}
	for range names {
		b.rtt = append(b.rtt, bench.NewHistogram())
	}
	return b
}

// begin makes a row that waits for every lane and for the conductor.
func (b *book) begin() *row {
	r := &row{book: b, number: b.begun, at: time.Since(b.base), rtt: make([]int64, len(b.names))}
	r.left.Store(int32(len(b.names)) + 1)
	b.begun++
	b.last.next, b.last = r.at, r
	return r
}

func (b *book) add(r *row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turnLocked(r.at)
	for i, ns := range r.rtt {
		if ns < 0 {
			b.lost[i]++
			continue
		}
		b.rtt[i].Record(ns, 1)
		b.open[i] = append(b.open[i], ns)
	}
	b.slow, b.slower = peaks.Keep(b.slow, r, b.slower, (*row).quorum)
	// Reservoir sampling (Vitter 1985, algorithm R).
	b.seen++
	if len(b.kept) < rowsMost {
		b.kept = append(b.kept, r)
	} else if i := rand.IntN(b.seen); i < rowsMost {
		b.kept[i] = r
	}
}

// turnLocked closes the seconds before at. A row that completes late counts in the current
// second.
func (b *book) turnLocked(at time.Duration) {
	for len(b.seconds) < int(at/time.Second) {
		b.closeLocked()
	}
}

func (b *book) closeLocked() {
	medians := make([]int64, len(b.open))
	for i, all := range b.open {
		medians[i] = -1
		if len(all) > 0 {
			slices.Sort(all)
			medians[i] = all[(len(all)-1)/2]
		}
		b.open[i] = all[:0]
	}
	b.seconds = append(b.seconds, medians)
}

// close notes when the probing ended.
func (b *book) close(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.length = max(now.Sub(b.base), 0)
}

// Report has the findings of a Prober, in the order of its masters.
type Report struct {
	Masters []bench.Master
	Probe   bench.Probe
	Seconds [][]int64 // median round trip to each master in each second, in ns; -1: no answer
}

// report makes the Report. All goroutines must have ended.
func (b *book) report(lanes []*lane) *Report {
	b.turnLocked(b.length)
	if b.length > 0 {
		b.closeLocked() // the last second, cut off
	}
	r := &Report{Seconds: b.seconds, Probe: bench.Probe{TimeoutNs: int64(b.timeout), Rows: [][]int64{}}}
	slices.SortFunc(b.kept, func(x, y *row) int { return cmp.Compare(x.number, y.number) })
	for _, row := range b.kept {
		r.Probe.Rows = append(r.Probe.Rows, row.rtt)
		r.Probe.AtNs = append(r.Probe.AtNs, int64(row.at))
	}
	slices.SortFunc(b.slow, func(x, y *row) int { return cmp.Compare(x.number, y.number) })
	for _, row := range b.slow {
		took := row.quorum()
		if took == math.MaxInt64 {
			took = -int64(max(cmp.Or(row.next, b.length)-row.at, 1))
		}
		r.Probe.Slow = append(r.Probe.Slow, bench.Peak{AtNs: int64(row.at), Ns: took})
	}
	for i, l := range lanes {
		m := bench.Master{Addr: b.names[i], RTT: b.rtt[i].Summary(), Lost: b.lost[i], Clock: wallclock.Of(l.clock)}
		for _, out := range l.outage {
			if b.length > 0 {
				m.Down += float64(max(min(out.to, b.length)-max(out.from, 0), 0)) / float64(b.length)
			}
		}
		r.Masters = append(r.Masters, m)
	}
	return r
}

// Into adds the Report to the result of the load that ran beside it.
func (r *Report) Into(res *bench.Result) {
	res.PerMaster, res.Probe = r.Masters, &r.Probe
	for i := range res.Series {
		if i < len(r.Seconds) {
			res.Series[i].MasterNs = r.Seconds[i]
		}
	}
}
