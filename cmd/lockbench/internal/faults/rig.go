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
	servers []*redisserver.Server
	proxies map[int]*faultproxy.Remote // in front of servers whose connections have a fault
	line    *faultproxy.Line           // nil: no fault needs one

	mu     sync.Mutex      // guards the following
	delays map[*Fault]bool // true: in force
}

// NewRig puts a proxy in front of each master whose connections have a fault. The caller must Close the Rig.
func NewRig(list []Fault, servers []*redisserver.Server) (*Rig, error) {
	r := &Rig{list: list, servers: servers, proxies: map[int]*faultproxy.Remote{}, delays: map[*Fault]bool{}}
	for i := range list {
		f := &list[i]
		if f.Kind.proxied() {
			if err := r.proxy(f.Master); err != nil {
				return nil, errors.Join(err, r.Close())
			}
		}
		if f.always() {
			r.delay(f, true)
		}
	}
	return r, nil
}

// proxy puts a proxy in front of a master, unless there is one.
func (r *Rig) proxy(master int) (err error) {
	if r.line == nil {
		r.line, err = faultproxy.OpenLine(Process)
	}
	if err == nil && r.proxies[master] == nil {
		r.proxies[master], err = r.line.Proxy(r.servers[master].Addr())
	}
	return err
}

// Addrs returns the addresses of the masters for clients, in order: of the proxy if there is one.
func (r *Rig) Addrs() (addrs []string) {
	for i, s := range r.servers {
		addrs = append(addrs, s.Addr())
		if p := r.proxies[i]; p != nil {
			addrs[i] = p.Addr()
		}
	}
	return addrs
}

// Begin starts the faults of a run whose measured time begins at start. Clients may be nil if no
// fault is theirs. The caller calls end when the run is over: it undoes the faults in force, and
// returns the bands and the errors.
func (r *Rig) Begin(start time.Time, clients Clients) (end func() ([]bench.Band, error)) {
	run, over := context.WithCancel(context.Background())
	s := &show{rig: r, clients: clients, run: run, start: start}
	var running sync.WaitGroup
	for _, turn := range turns(r.list) {
		running.Go(func() {
			for _, f := range turn {
				s.take(f)
			}
		})
	}
	return func() ([]bench.Band, error) {
		over()
		running.Wait()
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
// step, such as a start, delays no other turn.
func turns(list []Fault) map[string][]*Fault {
	all := map[string][]*Fault{}
	for i := range list {
		f, name := &list[i], list[i].subject()
		if f.Kind.proxied() {
			name = strconv.Itoa(i)
		}
		all[name] = append(all[name], f)
	}
	for _, turn := range all {
		slices.SortStableFunc(turn, func(f, g *Fault) int { return cmp.Compare(f.From, g.From) })
	}
	return all
}

// show is one run of the faults.
type show struct {
	rig     *Rig
	clients Clients
	run     context.Context
	start   time.Time

	mu    sync.Mutex // guards the following
	bands []bench.Band
	errs  []error
}

// take begins a fault when it is due. It ends the fault when that is due, or when the run is over. Band.From is when the
// fault is in force, To when its end begins.
func (s *show) take(f *Fault) {
	if f.always() { // it is there before the run and after it
		s.note(nil, band(f, f.From, f.To))
		return
	}
	if !s.await(f.From) {
		return
	}
	from := time.Since(s.start)
	err := s.rig.set(f, true, s.clients)
	if err != nil {
		s.note(err)
		return
	}
	to := time.Since(s.start)
	if !f.Kind.event() {
		from = to
		s.await(f.To)
		to = time.Since(s.start)
		err = s.rig.set(f, false, s.clients)
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
