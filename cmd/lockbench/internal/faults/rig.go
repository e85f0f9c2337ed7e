package faults

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"muxlock/bench"
	"muxlock/internal/faultproxy"
	"muxlock/internal/redisserver"
)

// Rig applies faults to local masters and client processes. It owns the proxies, not the servers. One goroutine may
// use it at a time.
type Rig struct {
	list    []Fault
	masters []*master
	line    *faultproxy.Line // nil: no fault needs one
}

// NewRig puts a proxy in front of each master whose connections have a fault. The caller must Close the Rig.
func NewRig(list []Fault, servers []*redisserver.Server) (*Rig, error) {
	r := &Rig{list: list}
	for i, s := range servers {
		r.masters = append(r.masters, &master{server: s, next: servers[(i+1)%len(servers)]})
	}
	for i := range list {
		f := &list[i]
		if !f.Kind.proxied() {
			continue
		}
		m := r.masters[f.Master]
		var err error
		if r.line == nil {
			r.line, err = faultproxy.OpenLine(Process)
		}
		if err == nil && m.proxy == nil {
			m.proxy, err = r.line.Proxy(m.server.Addr())
		}
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		if f.Whole {
			m.delay(f, true)
		}
	}
	return r, nil
}

// Addrs returns the addresses of the masters for clients, in order: of the proxy if there is one.
func (r *Rig) Addrs() []string {
	addrs := make([]string, len(r.masters))
	for i, m := range r.masters {
		if addrs[i] = m.server.Addr(); m.proxy != nil {
			addrs[i] = m.proxy.Addr()
		}
	}
	return addrs
}

// Begin starts the faults of a run whose measured time begins at start. Clients may be nil if no
// fault is theirs. The caller calls end when the run is over: it undoes the faults in force, and
// returns the bands and the errors.
func (r *Rig) Begin(start time.Time, clients Clients) (end func() ([]bench.Band, error)) {
	stop := make(chan struct{})
	shows := map[string]*show{}
	var running sync.WaitGroup
	for _, f := range r.list {
		name := f.subject()
		if shows[name] != nil {
			continue
		}
		s := &show{subject: client{clients}, start: start, open: map[*Fault]bench.Band{}}
		if f.Master >= 0 {
			s.subject = r.masters[f.Master]
		}
		shows[name] = s
		running.Go(func() { s.run(steps(r.list, name), stop) })
	}
	return func() ([]bench.Band, error) {
		close(stop)
		running.Wait()
		var bands []bench.Band
		var errs []error
		for _, s := range shows {
			bands = append(bands, s.bands...)
			errs = append(errs, s.errs...)
		}
		for _, f := range r.list {
			if f.Kind == Delay && f.Whole {
				bands = append(bands, band(&f, f.From, time.Since(start)))
			}
		}
		slices.SortStableFunc(bands, func(a, b bench.Band) int { return cmp.Compare(a.FromS, b.FromS) })
		return bands, errors.Join(errs...)
	}
}

// Close removes the proxies.
func (r *Rig) Close() error {
	if r.line == nil {
		return nil
	}
	return r.line.Close()
}

func band(f *Fault, from, to time.Duration) bench.Band {
	return bench.Band{Spec: f.Text, Kind: string(f.Kind), Master: f.Master + 1, FromS: from.Seconds(), ToS: to.Seconds()}
}

// A subject is a master or a client.
type subject interface {
	set(f *Fault, on bool) error
}

// show takes the steps of one subject in one run, one after the other. A slow step, such as a
// start, delays no other subject. Only run touches its fields.
type show struct {
	subject
	start time.Time
	open  map[*Fault]bench.Band // faults in force
	bands []bench.Band          // faults that are over
	errs  []error
}

// run takes each step when it is due. When stop closes, run takes the ends that are left.
func (s *show) run(todo []step, stop <-chan struct{}) {
	for _, next := range todo {
		select {
		case <-stop:
		case <-time.After(time.Until(s.start.Add(next.at))):
		}
		select {
		case <-stop:
			if _, begun := s.open[next.fault]; !begun {
				continue
			}
		default:
		}
		s.take(next)
	}
}

// take begins or ends a fault. Band.From is when the fault is in force, To when its end begins.
func (s *show) take(next step) {
	f := next.fault
	if next.end {
		b, begun := s.open[f]
		if !begun {
			return // it did not start
		}
		err := s.set(f, false)
		b.ToS = time.Since(s.start).Seconds()
		delete(s.open, f)
		s.bands, s.errs = append(s.bands, b), append(s.errs, err)
		return
	}
	began := time.Since(s.start)
	if err := s.set(f, true); err != nil {
		s.errs = append(s.errs, err)
		return
	}
	if f.To > f.From {
		s.open[f] = band(f, time.Since(s.start), 0)
	} else {
		s.bands = append(s.bands, band(f, began, time.Since(s.start)))
	}
}
