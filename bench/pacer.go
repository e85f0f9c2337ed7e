package bench

import (
	"math"
	"sync"
	"time"

	"muxlock/internal/clock"
)

// pacer hands arrivals to workers, without a dispatcher and without a timer per arrival. A
// worker that becomes free takes the next arrival if it is due. Otherwise the worker queues
// for the baton. The holder of the baton sleeps until the next arrival, takes it, and passes
// the baton on. An arrival that finds no free worker stays in the schedule; its age counts
// as wait.
//
// The pacer measures the generator's own lag apart from that wait. An ideal generator gives
// each arrival, when it is due, to the worker that has stood ready longest. So each take
// uses up the oldest ready time, whichever worker takes. Lag is the time that the arrival
// was due and that worker ready.
type pacer struct {
	now    func() int64
	alarms *clock.Alarms   // nil in virtual time
	alarm  *clock.Alarm    // owned by the holder of the baton
	stop   <-chan struct{} // ends every nap
	baton  chan struct{}   // one token

	mu     sync.Mutex // guards the following
	sched  *schedule
	ahead  arrival // next to be taken
	ready  ready
	length int64 // of the measured time, at most
	early  int64 // end of the first seven tenths of the measured time, once open
	late   int64 // start of the last tenth
	until  int64 // end of the measured time, once it is over: an earlier arrival may still be taken
	open   bool
	closed bool   // no arrival may be taken any more
	totals Totals // of the measured time
	begun  age    // arrivals taken until early
	ended  age    // arrivals taken from late on
}

// age adds up how long arrivals were due when they were begun, in ns.
type age struct{ sum, count int64 }

func (a *age) add(ns int64) { a.sum, a.count = a.sum+ns, a.count+1 }

func (a age) mean() int64 { return a.sum / max(a.count, 1) }

const lateAfter = 1e6 // an arrival begun more than 1 ms after it was due is late

func newPacer(cfg Config, z *zipf, now func() int64, alarms *clock.Alarms, stop <-chan struct{}) *pacer {
	p := &pacer{
		now:    now,
		alarms: alarms,
		alarm:  clock.NewAlarm(),
		stop:   stop,
		baton:  make(chan struct{}, 1),
		sched:  newSchedule(cfg, z),
		ready:  ready{times: make([]int64, cfg.Workers)},
		length: int64(cfg.Duration),
		until:  math.MaxInt64,
	}
	p.ahead = p.sched.next()
	p.baton <- struct{}{}
	return p
}

// next waits for an arrival. It returns false when the run is over.
func (p *pacer) next() (arrival, bool) {
	a, wait := p.take(true)
	if wait == 0 {
		return a, true
	}
	<-p.baton
	defer func() { p.baton <- struct{}{} }()
	for {
		a, wait := p.take(false)
		switch {
		case wait < 0:
			return a, false
		case wait == 0:
			return a, true
		}
		d := time.Duration(wait)
		if p.alarms != nil {
			d = max(d, shortestNap)
		}
		p.alarms.Sleep(d, p.alarm, p.stop)
	}
}

// shortestNap keeps a high rate from setting the alarm for every arrival. At 50,000/s it
// saves a quarter of the CPU, and adds 13 us to the median.
const shortestNap = 50 * time.Microsecond

// take returns the next arrival and 0 if it is due, else the time until it is due, or -1 if
// there will be none. first says that the worker was busy until now.
func (p *pacer) take(first bool) (arrival, int64) {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return arrival{}, -1
	}
	if first {
		p.ready.push(now)
	}
	a := p.ahead
	if a.at >= p.until {
		return arrival{}, -1
	}
	if a.at > now {
		return a, a.at - now
	}
	p.ahead = p.sched.next()
	age := now - a.at
	a.lag = min(age, now-p.ready.pop())
	if p.open {
		a.measured = true
		p.totals.Offered++
	}
	if p.open && now < p.until {
		p.totals.Started++
		if age > lateAfter {
			p.totals.Late++
		}
		if now < p.early {
			p.begun.add(age)
		} else if now >= p.late {
			p.ended.add(age)
		}
	}
	return a, 0
}

// begin starts the measured time. It drops the arrivals from before due, such as those that the
// warm-up left waiting: they count in no figure, and would delay those that do.
func (p *pacer) begin(from, due int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.ahead.at < due {
		p.ahead = p.sched.next()
	}
	p.early, p.late, p.open = from+p.length*7/10, from+p.length*9/10, true
}

// end ends the measured time: later arrivals are never taken. It reports whether a backlog
// grew, and is there. At a rate just above the lock's capacity, the arrivals of the last tenth are the oldest.
// After a stall that was worked off before it, they are young. Closing stop, not end, wakes a sleeping worker.
func (p *pacer) end(now int64) (growing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = now
	return p.open && now-p.ahead.at > backlogFloor && p.ended.mean() > max(backlogFloor, 2*p.begun.mean())
}

// close ends the drain, after end. It returns the counts of the measured time's arrivals. It
// calls each with the age of every arrival that no worker began.
func (p *pacer) close(now int64, each func(age int64)) Totals {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if !p.open {
		return Totals{}
	}
	for ; p.ahead.at < p.until; p.ahead = p.sched.next() {
		p.totals.Offered++
		each(now - p.ahead.at)
	}
	return p.totals
}

// backlogFloor is the age up to which there is no backlog, 10 ms.
const backlogFloor = 10e6

// ready is a ring with room for all workers: the times since which those in next stand ready.
type ready struct {
	times    []int64
	first, n int
}

func (r *ready) push(since int64) {
	i := r.first + r.n
	if i >= len(r.times) { // % takes 3 ns more
		i -= len(r.times)
	}
	r.times[i] = since
	r.n++
}

// pop removes the oldest time.
func (r *ready) pop() int64 {
	since := r.times[r.first]
	if r.first++; r.first == len(r.times) {
		r.first = 0
	}
	r.n--
	return since
}
