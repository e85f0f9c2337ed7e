package faults

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
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
		if f.always() {
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
	run, over := context.WithCancel(context.Background())
	s := &show{run: run, start: start}
	var running sync.WaitGroup
	for _, turn := range turns(r.list) {
		running.Go(func() {
			for _, f := range turn {
				if f.Master >= 0 {
					s.take(f, r.masters[f.Master].set)
				} else {
					s.take(f, client{clients}.set)
				}
			}
		})
	}
	return func() ([]bench.Band, error) {
		over()
		running.Wait()
		for _, f := range r.list {
			if f.always() {
				s.bands = append(s.bands, band(&f, f.From, time.Since(start)))
			}
		}
		slices.SortStableFunc(s.bands, func(a, b bench.Band) int { return cmp.Compare(a.FromS, b.FromS) })
		return s.bands, errors.Join(s.errs...)
	}
}

// Close removes the proxies.
func (r *Rig) Close() error {
	if r.line == nil {
		return nil
	}
	return r.line.Close()
}

// turns returns the faults of each process, which come one after the other, and each fault of connections alone. A slow
// step, such as a start, delays no other turn. A delay without times has none: it is there before and after the run.
func turns(list []Fault) map[string][]*Fault {
	all := map[string][]*Fault{}
	for i := range list {
		f, name := &list[i], list[i].subject()
		if f.Kind.proxied() {
			name = strconv.Itoa(i)
		}
		if !f.always() {
			all[name] = append(all[name], f)
		}
	}
	for _, turn := range all {
		slices.SortStableFunc(turn, func(f, g *Fault) int { return cmp.Compare(f.From, g.From) })
	}
	return all
}

// show is one run of the faults.
type show struct {
	run   context.Context
	start time.Time

	mu    sync.Mutex // guards the following
	bands []bench.Band
	errs  []error
}

// take begins a fault when it is due. It ends the fault when that is due, or when the run is over. Band.From is when the
// fault is in force, To when its end begins.
func (s *show) take(f *Fault, set func(f *Fault, on bool) error) {
	if !s.await(f.From) {
		return
	}
	from := time.Since(s.start)
	err := set(f, true)
	if err != nil {
		s.note(err)
		return
	}
	to := time.Since(s.start)
	if !f.Kind.event() {
		from = to
		s.await(f.end())
		to = time.Since(s.start)
		err = set(f, false)
	}
	s.note(err, band(f, from, to))
}

// await reports whether the time came before the end of the run.
func (s *show) await(at time.Duration) bool {
	select {
	case <-s.run.Done():
	case <-time.After(time.Until(s.start.Add(at))):
	}
	return s.run.Err() == nil
}

func (s *show) note(err error, bands ...bench.Band) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs, s.bands = append(s.errs, err), append(s.bands, bands...)
}

func band(f *Fault, from, to time.Duration) bench.Band {
	return bench.Band{Spec: f.Text, Kind: string(f.Kind), Master: f.Master + 1, FromS: from.Seconds(), ToS: to.Seconds()}
}
