// Package probe watches masters from beside a load: round trips, times
// without an answer, and clocks.
//
// A Prober has a connection of its own to each master. Now and then, at moments that
// are in step with nothing, it sends TIME to all of them at once; what comes back is
// a row of round trips that belong together, as those of one attempt to lock do.
//
//	conductor --TIME--> master 1 --answer--> lane 1 --+
//	          --TIME--> master 2 --answer--> lane 2 --+--> the last one hands the row to the book
//	          ...
//
// Probes follow each other without waiting for answers, so a distant master lowers no
// rate. A lane whose master did not answer in time is out: it tries to reach its master
// again in the background, and rows that begin meanwhile count it as lost at once. So a
// master that hangs holds nothing up.
//
// TIME takes a server about as long as the SET of a lock does, and reports its clock. It
// goes over a bare socket: rueidis comes within 8 us of that at the median when one
// goroutine calls and waits, but adds 90 us when probes are to follow each other.
package probe

import (
	"context"
	"math/rand/v2"
	"runtime/pprof"
	"sync"
	"time"

	"muxlock/cmd/lockbench/internal/masters"
)

// Options of a Prober.
type Options struct {
	// Every is the mean time between two rows, drawn anew for each: exponential, so
	// that no rhythm of the load or of a master is met or missed always.
	Every time.Duration
	// Timeout is when a probe counts as lost. Too short, and slow answers count as none;
	// a connection is given up then.
	Timeout time.Duration
}

const retryPause = 50 * time.Millisecond // of a lane that is out

// Prober is the connections and what they have seen. It is used once: Open, Start, Stop.
type Prober struct {
	opts  Options
	lanes []*lane
	book  *book

	ctx    context.Context // ends with Stop, or when the time to watch is over
	cancel context.CancelFunc
	all    sync.WaitGroup // conductor and lanes
}

// Open connects to all masters at once and blocks for at most one timeout. A master
// that cannot be reached is no error: its lane is out until it can. An address that is
// none is one.
func Open(ctx context.Context, addrs []string, opts Options) (*Prober, error) {
	p := &Prober{opts: opts, ctx: ctx}
	var names []string
	for i, addr := range addrs {
		if _, err := masters.Option(addr); err != nil {
			return nil, err
		}
		p.lanes = append(p.lanes, &lane{number: i, addr: addr, timeout: opts.Timeout})
		names = append(names, masters.Redact(addr))
	}
	p.book = newBook(names, opts.Timeout)
	for _, l := range p.lanes {
		p.all.Go(func() { _ = l.connect(ctx) }) // one that cannot be reached is out
	}
	p.all.Wait()
	return p, nil
}

// Start begins to probe at a moment that may lie ahead, for length or until Stop. It returns
// at once. The times of the Report count from that moment.
func (p *Prober) Start(at time.Time, length time.Duration) {
	p.ctx, p.cancel = context.WithDeadline(context.WithoutCancel(p.ctx), at.Add(length))
	p.book.base = at
	pprof.Do(p.ctx, pprof.Labels("lockbench", "probe"), func(context.Context) {
		for _, l := range p.lanes {
			p.all.Go(func() { l.run(p.ctx, p.book) })
		}
		p.all.Go(p.conduct)
	})
}

// Stop ends the probing, waits for the answers that are still out, at most for one
// timeout, closes the connections and returns what was seen. Without Start before, the
// Report is nil.
func (p *Prober) Stop() *Report {
	var report *Report
	if p.cancel != nil {
		p.cancel()
		p.all.Wait()
		report = p.book.report(p.lanes)
	}
	for _, l := range p.lanes {
		l.close()
	}
	return report
}

// conduct begins the rows.
func (p *Prober) conduct() {
	defer func() {
		for _, l := range p.lanes {
			l.end()
		}
	}()
	timer := time.NewTimer(time.Until(p.book.base) + p.pause())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-p.ctx.Done():
			p.book.close(time.Now())
			return
		}
		r := p.book.begin()
		for i, l := range p.lanes {
			if !l.send(r) {
				r.lost(i)
			}
		}
		r.end()
		timer.Reset(p.pause())
	}
}

func (p *Prober) pause() time.Duration {
	return time.Duration(rand.ExpFloat64() * float64(p.opts.Every))
}
