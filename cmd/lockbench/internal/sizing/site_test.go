package sizing_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
	"muxlock/internal/probe"
	"muxlock/internal/testing/redistest"
)

// exact sets a prediction, with a tolerance for what its rule leaves out on purpose.
func (c check) exact(v, tolerance float64) check {
	c.predicted, c.from, c.to = v, v*(1-tolerance), v*(1+tolerance)
	return c
}

func (c check) share(k, n int) check {
	p := float64(k) / float64(n)
	half := 4 * math.Sqrt((p*(1-p)+1/float64(n))/float64(n))
	c.measured, c.least, c.top, c.unit = p, p-half, p+half, fmt.Sprintf("of %d", n)
	return c
}

func (c check) quantile(samples []float64, p float64) check {
	slices.Sort(samples)
	n := float64(len(samples))
	at := func(p float64) float64 { return samples[min(max(int(p*n), 0), len(samples)-1)] }
	half := 4 * math.Sqrt(p*(1-p)/n)
	c.measured, c.least, c.top, c.unit = at(p), at(p-half), at(p+half), fmt.Sprintf("ms, of %d", len(samples))
	return c
}

func inMs(d time.Duration) float64 { return float64(d) / 1e6 }

// far returns an address that leads to a master whose replies are late; their order is kept.
func far(t *testing.T, master string, law func() time.Duration) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	late := func(from, to net.Conn) {
		type chunk struct {
			bytes []byte
			due   time.Time
		}
		queue := make(chan chunk, 1000)
		go func() {
			defer to.Close()
			for c := range queue {
				time.Sleep(time.Until(c.due))
				_, _ = to.Write(c.bytes) // a connection that is gone is seen by its reader
			}
		}()
		defer close(queue)
		for {
			b := make([]byte, 4096)
			n, err := from.Read(b)
			if err != nil {
				return
			}
			queue <- chunk{b[:n], time.Now().Add(law())}
		}
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", master)
			if err != nil {
				in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in) }()
			go late(out, in)
		}
	}()
	return l.Addr().String()
}

func lognormal(median time.Duration, sigma float64) func() time.Duration {
	return func() time.Duration { return time.Duration(float64(median) * math.Exp(sigma*rand.NormFloat64())) }
}

func fars(t *testing.T, n int, law func() time.Duration) (addrs []string) {
	for _, master := range redistest.Addrs(redistest.Masters(t, n)) {
		addrs = append(addrs, far(t, master, law))
	}
	return addrs
}

// engines returns engines without common connections.
func engines(t *testing.T, n int, cfg engine.Config) []*engine.Engine {
	cfg.MastersAreNew, cfg.MasterTimeout = true, patience
	all := make([]*engine.Engine, n)
	var opening errgroup.Group
	opening.SetLimit(8)
	for i := range all {
		opening.Go(func() (err error) {
			all[i], err = engine.New(t.Context(), cfg)
			return err
		})
	}
	require.NoError(t, opening.Wait())
	t.Cleanup(func() {
		for _, e := range all {
			e.Close()
		}
	})
	return all
}

// probed starts single probers, each on its own connections and with one probe at a time.
func probed(t *testing.T, addrs []string, probers int, length time.Duration) (join func() sizing.Measured) {
	var all []*probe.Prober
	for range probers {
		p, err := probe.Open(t.Context(), addrs, probe.Options{Every: 100 * time.Millisecond, Timeout: time.Second})
		require.NoError(t, err)
		p.Start(t.Context(), time.Now(), length)
		all = append(all, p)
	}
	return func() sizing.Measured {
		m := sizing.Measured{Masters: len(addrs), Watched: length}
		for _, p := range all {
			m.Rounds = append(m.Rounds, p.Stop().Rows...)
		}
		return m
	}
}

const (
	patience = 1500 * time.Millisecond // with late masters, which are never given up
	length   = 8 * time.Second
)
