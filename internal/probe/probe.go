// Package probe watches masters from outside: round trips, times without an answer, and clocks.
//
// A Prober has its own connection to each master. At random moments it sends TIME to all masters
// at once. The answers make a row: joint round trips, like those of one attempt to lock.
//
//	conductor --TIME--> master 1 --answer--> lane 1 --+
//	          --TIME--> master 2 --answer--> lane 2 --+--> each writes its own part of the row
//	          ...
//
// A probe does not wait for the answers to earlier ones, so a distant master does not lower the
// rate. A lane whose master did not answer in time is out. It dials its master again, and rows that
// begin meanwhile have no answer of it. So a hung master delays nothing.
//
// TIME costs a server about as much as the SET of a lock, and reports the server's clock. It goes
// over a bare socket. rueidis adds 8 us at the median if one goroutine calls and waits, but 90 us
// if probes overlap.
package probe

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/address"
	"muxlock/internal/wallclock"
)

// Options of a Prober.
type Options struct {
	// Every is the mean time between two rows. The times are exponential, so that rows do not
	// fall in step with a load or with a master. A row takes some 100 bytes until the end.
	Every time.Duration
	// Timeout is the time after which a probe counts as lost, and its connection is given up. Too
	// short: slow answers count as lost.
	Timeout time.Duration
	// Client is the template of all connections. Its Username and Password log in.
	Client rueidis.ClientOption
}

const retryPause = 50 * time.Millisecond // between two dials of a lane that is out

// Prober probes masters on its own connections. It is used once: Open, Start, Stop. Without Open
// it has no masters.
type Prober struct {
	opts   Options
	lanes  []*lane
	base   time.Time
	rows   []Row         // owned by the conductor until it ends, like length
	length time.Duration // of the probing
	cancel context.CancelFunc
	all    sync.WaitGroup // conductor and lanes
}

// Open connects to all masters at once and blocks for at most one timeout, or until ctx ends. An
// unreachable master is no error: its lane is out until it can be reached. A malformed address is
// an error.
func Open(ctx context.Context, masters []string, opts Options) (*Prober, error) {
	p := &Prober{opts: opts}
	for _, master := range masters {
		option, err := address.Parse(master, opts.Client)
		if err != nil {
			return nil, fmt.Errorf("master %d: %w", len(p.lanes)+1, err)
		}
		room := 100 + 2*opts.Timeout/opts.Every // more than are due while the lane waits for one answer, or dials
		p.lanes = append(p.lanes, &lane{option: option, timeout: opts.Timeout, probes: make(chan sent, room)})
	}
	for _, l := range p.lanes {
		p.all.Go(func() { l.connect(ctx) })
	}
	p.all.Wait()
	return p, nil
}

// Start returns at once. Probing begins at a moment that may lie ahead, and lasts for length,
// until Stop, or until ctx ends. The times of the Report count from that moment.
func (p *Prober) Start(ctx context.Context, at time.Time, length time.Duration) {
	ctx, p.cancel = context.WithDeadline(ctx, at.Add(length))
	p.base = at
	pprof.Do(ctx, pprof.Labels("muxlock", "probe"), func(ctx context.Context) {
		for _, l := range p.lanes {
			p.all.Go(func() { l.run(ctx, at) })
		}
		p.all.Go(func() { p.conduct(ctx) })
	})
}

// Stop ends the probing. It waits for answers under way, for at most one timeout, and closes the
// connections. It returns nil if Start was not called.
func (p *Prober) Stop() *Report {
	defer func() {
		for _, l := range p.lanes { // their goroutines have ended, or never began
			l.close()
		}
	}()
	if p.cancel == nil {
		return nil
	}
	p.cancel()
	p.all.Wait()
	r := &Report{Length: p.length, Rows: p.rows}
	for i, l := range p.lanes {
		r.Masters = append(r.Masters, master(p.rows, i, p.length))
		r.Masters[i].Addr, r.Masters[i].Clock = l.option.InitAddress[0], wallclock.Of(l.clock)
	}
	return r
}

// conduct begins the rows. It runs in the conductor's goroutine.
func (p *Prober) conduct(ctx context.Context) {
	defer func() {
		p.length = max(time.Since(p.base), 0)
		for _, l := range p.lanes {
			close(l.probes)
		}
	}()
	for wait := time.Until(p.base); ; wait = time.Duration(rand.ExpFloat64() * float64(p.opts.Every)) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		row := Row{At: time.Since(p.base), Trips: make([]time.Duration, len(p.lanes))}
		for _, i := range rand.Perm(len(p.lanes)) { // the first answer may wait until all are sent
			row.Trips[i] = -1
			p.lanes[i].send(&row.Trips[i])
		}
		p.rows = append(p.rows, row)
	}
}
