package engine

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redisfake"
	"muxlock/internal/testing/faultconn"
)

// fakes are masters in a bubble, with paths to them.
type fakes struct {
	t         *testing.T
	addresses []string
	servers   map[string]*redisfake.Server
}

func newFakes(t *testing.T, n int) *fakes {
	f := &fakes{t: t, servers: make(map[string]*redisfake.Server)}
	for i := range n {
		address := fmt.Sprintf("192.0.2.%d:6379", i)
		f.addresses, f.servers[address] = append(f.addresses, address), redisfake.New()
		t.Cleanup(f.servers[address].Close)
	}
	return f
}

// engine returns one whose requests take path on their way to a master. The way back takes no time.
func (f *fakes) engine(path func() time.Duration, changes ...func(*Config)) *Engine {
	paths := make(map[string]*faultconn.Link)
	for _, address := range f.addresses {
		paths[address] = faultconn.NewLink()
		paths[address].DelayRequests(path())
	}
	cfg := Config{Masters: f.addresses}
	for _, change := range changes {
		change(&cfg)
	}
	cfg.Client = rueidis.ClientOption{DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		conn, err := f.servers[address].Dial(ctx, address, d, c)
		if err != nil {
			return nil, err
		}
		return paths[address].Wrap(conn), nil
	}}
	e, err := New(f.t.Context(), cfg)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, e.Close()) })
	return e
}

// near returns an engine to which all masters are as far.
func (f *fakes) near(there time.Duration, changes ...func(*Config)) *Engine {
	return f.engine(func() time.Duration { return there }, changes...)
}

// scattered returns engines, each with paths of its own to five masters: there they take from near to far.
func scattered(t *testing.T, rng *rand.Rand, n int, near, far time.Duration) (engines []*Engine) {
	f := newFakes(t, 3)
	for range n {
		engines = append(engines, f.engine(func() time.Duration { return near + time.Duration(rng.Int64N(int64(far-near)+1)) }))
	}
	return engines
}
