// Package masters finds or starts the masters of a run: the user's servers, real servers started
// for the run, or masters inside this process.
//
// A Set owns the masters that it started; Close stops them.
package masters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/rueidis"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/address"
	"muxlock/internal/redisserver"
	"muxlock/internal/serverinfo"
	"muxlock/internal/wire"
)

// Set has the masters of a run.
type Set struct {
	Kind    result.Target
	Addrs   []string              // for the implementations
	Version string                // "redis 7.0.15"; of the masters that answer, each once
	Servers []*redisserver.Server // of a local set, in the order of Addrs
	// Distance is the shortest of a few round trips to the farthest given master that answers.
	Distance time.Duration
	stop     func() error
}

// Close stops the masters that the set started. It may be called again.
func (s *Set) Close() error { return s.stop() }

// Use makes a Set of running masters. It fails if none of them answers.
func Use(ctx context.Context, addrs []string) (*Set, error) {
	s := &Set{Kind: result.Given, Addrs: addrs, stop: func() error { return nil }}
	var versions []string
	var first error
	for _, addr := range addrs {
		version, rtt, err := meet(ctx, addr)
		if err != nil {
			first = cmp.Or(first, fmt.Errorf("master %s: %w", Redact(addr), err))
			continue
		}
		s.Distance = max(s.Distance, rtt)
		if version != "" && !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
	}
	if s.Distance == 0 {
		return nil, first
	}
	s.Version = strings.Join(versions, ", ")
	return s, nil
}

// meet asks one master for its version several times, and returns the shortest round trip. It
// blocks for 5 s at most.
func meet(ctx context.Context, addr string) (version string, shortest time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := wire.Dial(ctx, addr)
	if err != nil {
		return "", 0, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })()
	shortest = math.MaxInt64
	for range 5 {
		start := time.Now()
		info, err := c.Call("INFO", "server")
		if err != nil {
			return "", 0, err
		}
		shortest = min(shortest, time.Since(start))
		if name, number := serverinfo.Parse(info[0].Text).Product(); number != "" {
			version = name + " " + number
		}
	}
	return version, shortest, nil
}

// StartLocal starts n servers. They run until Close, or until this process ends.
func StartLocal(ctx context.Context, n int, opts redisserver.Options) (*Set, error) {
	servers, err := redisserver.StartN(ctx, n, opts)
	if err != nil {
		return nil, err
	}
	stop := func() error { return redisserver.StopAll(servers) }
	var addrs []string
	for _, server := range servers {
		addrs = append(addrs, server.Addr())
	}
	s, err := Use(ctx, addrs)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	s.Kind, s.Servers, s.Distance, s.stop = result.Local, servers, 0, stop
	return s, nil
}

// StartEmbedded starts n masters inside this process.
func StartEmbedded(n int) (*Set, error) {
	s := &Set{Kind: result.Embedded, Version: "miniredis"}
	var all []*miniredis.Miniredis
	s.stop = func() error {
		for _, m := range all {
			m.Close()
		}
		all = nil
		return nil
	}
	for range n {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true) // otherwise no key ever expires
		if err := m.Start(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		identify(m)
		all = append(all, m)
		s.Addrs = append(s.Addrs, m.Addr())
	}
	return s, nil
}

// identify lets an embedded master answer INFO as a server does. Clients distinguish masters by
// run_id, which miniredis does not have.
func identify(m *miniredis.Miniredis) {
	info := fmt.Sprintf("# Server\r\nredis_version:7.0.0\r\nrun_id:%016x%016x\r\n# Replication\r\nrole:master\r\n", rand.Uint64(), rand.Uint64())
	m.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		if cmd == "INFO" {
			c.WriteBulk(info)
		}
		return cmd == "INFO"
	})
}

// Parse parses addresses separated by commas: host:port, or a URL with redis, rediss or unix. It
// refuses malformed and repeated addresses.
func Parse(list string) ([]string, error) {
	var addrs []string
	seen := map[string]bool{}
	for _, addr := range strings.Split(list, ",") {
		addr = strings.TrimSpace(addr)
		opt, err := Option(addr)
		if err != nil {
			return nil, err
		}
		server := address.Server(opt)
		if seen[server] {
			return nil, fmt.Errorf("%q is named twice", Redact(addr))
		}
		seen[server] = true
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

// Option returns the options of a rueidis client for one independent master.
func Option(addr string) (rueidis.ClientOption, error) {
	opt, err := address.Parse(addr, rueidis.ClientOption{
		ForceSingleClient: true, // never a cluster
		DisableCache:      true,
	})
	if err != nil {
		err = fmt.Errorf("%q is not an address like host:6379, redis://host:6379 or unix:///path: %w", Redact(addr), err)
	}
	return opt, err
}

// Redact removes user and password from an address.
func Redact(addr string) string {
	scheme, rest, isURL := strings.Cut(addr, "://")
	bare := addr[strings.LastIndexByte(addr, '@')+1:]
	if isURL && strings.Contains(rest, "@") {
		return scheme + "://" + bare
	}
	return bare
}
