// Package probe watches masters beside a load: round trips, times without an answer, and clocks.
//
// A Prober has its own connection to each master. At random moments it sends TIME to all masters
// at once. The answers make a row: joint round trips, like those of one attempt to lock.
//
//	conductor --TIME--> master 1 --answer--> lane 1 --+
//	          --TIME--> master 2 --answer--> lane 2 --+--> the last one hands the row to the book
//	          ...
//
// A probe does not wait for the answers to earlier ones, so a distant master does not lower the
// rate. A lane whose master did not answer in time is out. It dials its master again in the
// background, and rows that begin meanwhile count it as lost at once. So a hung master delays
// nothing.
//
// TIME costs a server about as much as the SET of a lock, and reports the server's clock. It goes
// over a bare socket. rueidis adds 8 us at the median if one goroutine calls and waits, but 90 us
// if probes overlap.
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
	// Every is the mean time between two rows. The times are exponential, so that rows do not
	// fall in step with the load or with a master.
	Every time.Duration
	// Timeout is the time after which a probe counts as lost, and its connection is given up. Too
	// short: slow answers count as lost.
	Timeout time.Duration
}

const retryPause = 50 * time.Millisecond // between two dials of a lane that is out

// Prober probes masters on its own connections. It is used once: Open, Start, Stop.
type Prober struct {
	opts  Options
	lanes []*lane
	book  *book

	ctx    context.Context // ends with Stop, or after the length of Start
	cancel context.CancelFunc
	all    sync.WaitGroup // conductor and lanes
}

// Open connects to all masters at once and blocks for at most one timeout. An unreachable master
// is no error: its lane is out until it can be reached. A malformed address is an error.
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
		p.all.Go(func() { _ = l.connect(ctx) }) // an unreachable master is out
	}
	p.all.Wait()
	return p, nil
}

// Start returns at once. Probing begins at a moment that may lie ahead, and lasts for length or
// until Stop. The times of the Report count from that moment.
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

// Stop ends the probing. It waits for answers under way, for at most one timeout, and closes the
// connections. It returns nil if Start was not called.
func (p *Prober) Stop() *Report {
	var report *Report
	if p.cancel != nil {
		p.cancel()
		p.all.Wait()
		report = p.book.report(p.lanes)
	}
	for _, l := range p.lanes { // their goroutines have ended, or never began
		if l.conn != nil {
			l.conn.Close()
		}
	}
	return report
}

// conduct begins the rows. It runs in the conductor's goroutine.
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
