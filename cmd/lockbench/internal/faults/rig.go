package faults

import (
	"errors"
	"slices"
	"time"

	"muxlock/internal/redisserver"
)

// lead is how long before the measured time a stop begins, so that the first
// second after it is warm-up.
const lead = time.Second

// Rig is faults applied to local masters. It owns the proxies, not the servers.
type Rig struct {
	addrs   []string
	stops   []*redisserver.Server
	proxies []*Proxy
}

// NewRig puts the proxies in front. Close it.
func NewRig(list []Fault, servers []*redisserver.Server) (*Rig, error) {
	r := &Rig{}
	for _, s := range servers {
		r.addrs = append(r.addrs, s.Addr())
	}
	for _, f := range list {
		if f.Kind == Stop {
			r.stops = append(r.stops, servers[f.Master])
			continue
		}
		p, err := NewProxy(r.addrs[f.Master], f.Delay) // a second delay adds to the first
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.proxies = append(r.proxies, p)
		r.addrs[f.Master] = p.Addr()
	}
	return r, nil
}

// Addrs is where clients reach the masters, in their order.
func (r *Rig) Addrs() []string { return slices.Clone(r.addrs) }

// Begin is called when a run begins with its warm-up, and stops what is to be
// stopped one second before the warm-up ends. end lets it go on, and tells whether
// stopping it had worked; call it when the run is over.
func (r *Rig) Begin(warmup time.Duration) (end func() error) {
	if len(r.stops) == 0 {
		return func() error { return nil }
	}
	cancel, done := make(chan struct{}), make(chan error, 1)
	go func() {
		select {
		case <-cancel:
			done <- nil
		case <-time.After(warmup - lead):
			var errs []error
			for _, s := range r.stops {
				errs = append(errs, s.Pause())
			}
			done <- errors.Join(errs...)
		}
	}()
	return func() error {
		close(cancel)
		errs := []error{<-done}
		for _, s := range r.stops {
			errs = append(errs, s.Resume())
		}
		return errors.Join(errs...)
	}
}

// Close removes the proxies.
func (r *Rig) Close() error {
	var errs []error
	for _, p := range slices.Backward(r.proxies) {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
