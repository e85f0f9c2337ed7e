package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/probe"
	"muxlock/engine"
	"muxlock/internal/serverinfo"
	"muxlock/pipeline"
)

// facts is what was seen of one master.
type facts struct {
	addr     string
	host     string // what its name stands for; "this machine" if it is here
	err      error  // it cannot be reached
	info     serverinfo.Info
	config   map[string]string // of CONFIG GET; absent: not permitted
	trial    error             // why the engine does not admit it
	tracking error             // why CLIENT TRACKING does not work
	watchers int64             // connections that listen as Sentinels do; below 0: not permitted
	slow     slowlog
	tls      bool
}

// slowlog is the commands of the last hour that a master itself calls slow.
type slowlog struct {
	err     error
	count   int
	longest time.Duration
}

const (
	limit    = 5 * time.Second // for all questions to one master
	thisHost = "this machine"
	hour     = 3600
)

// collect asks all masters at once.
func collect(ctx context.Context, addrs []string) []facts {
	all := make([]facts, len(addrs))
	var asking sync.WaitGroup
	for i, addr := range addrs {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			all[i].addr = masters.Redact(addr)
			all[i].err = all[i].ask(ctx, addr)
		})
	}
	asking.Wait()
	return all
}

func (f *facts) ask(ctx context.Context, addr string) error {
	option, err := masters.Option(addr)
	if err != nil {
		return err
	}
	f.tls = option.TLSConfig != nil
	f.host = resolve(ctx, option)
	option.DisableRetry = true
	option.Dialer.Timeout = limit
	option.ConnWriteTimeout = limit
	client, err := rueidis.NewClient(option)
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		return err
	}
	text, err := client.Do(ctx, client.B().Info().Build()).ToString()
	if err != nil {
		return fmt.Errorf("INFO: %w", err)
	}
	f.info = serverinfo.Parse(text)
	f.config = map[string]string{}
	for _, name := range []string{"appendfsync", "save"} {
		if got, err := client.Do(ctx, client.B().ConfigGet().Parameter(name).Build()).AsStrMap(); err == nil {
			f.config[name] = got[name]
		}
	}
	f.watchers = -1
	if n, err := client.Do(ctx, client.B().PubsubNumsub().Channel("__sentinel__:hello").Build()).AsIntMap(); err == nil {
		f.watchers = n["__sentinel__:hello"]
	}
	f.slow = askSlowlog(ctx, client)
	f.tracking = tryTracking(ctx, client)
	f.trial = tryEngine(ctx, addr)
	return nil
}

// tryEngine lets the engine itself look at the master, as it will: who it is, its
// scripts, and a trial lock that is taken, extended and released.
func tryEngine(ctx context.Context, addr string) error {
	e, err := engine.New(ctx, engine.Config{Masters: []string{addr}, MastersAreNew: true, MasterTimeout: time.Second})
	if err != nil {
		return err
	}
	return e.Close()
}

// tryTracking does what waiters do, to be notified when a lock is released.
func tryTracking(ctx context.Context, client rueidis.Client) error {
	c, done := client.Dedicate()
	defer done()
	for _, words := range [][]string{
		{"CLIENT", "TRACKING", "ON", "OPTIN"},
		{"CLIENT", "CACHING", "YES"},
		{"PTTL", pipeline.ReservedPrefix + "doctor:" + rand.Text()},
		{"CLIENT", "TRACKING", "OFF"},
	} {
		if err := c.Do(ctx, c.B().Arbitrary(words...).Build()).Error(); err != nil {
			return fmt.Errorf("%s: %w", words[0], err)
		}
	}
	return nil
}

func askSlowlog(ctx context.Context, client rueidis.Client) (s slowlog) {
	now, err := client.Do(ctx, client.B().Time().Build()).AsIntSlice()
	if err == nil && len(now) != 2 {
		err = errors.New("TIME makes no sense")
	}
	if err != nil {
		return slowlog{err: err}
	}
	entries, err := client.Do(ctx, client.B().SlowlogGet().Count(128).Build()).ToArray()
	if err != nil {
		return slowlog{err: err}
	}
	for _, entry := range entries {
		fields, err := entry.ToArray()
		if err != nil || len(fields) < 3 {
			continue
		}
		at, _ := fields[1].AsInt64()
		us, _ := fields[2].AsInt64()
		if now[0]-at < hour {
			s.count++
			s.longest = max(s.longest, time.Duration(us)*time.Microsecond)
		}
	}
	return s
}

// resolve returns which machine an address means, as far as its name does.
func resolve(ctx context.Context, option rueidis.ClientOption) string {
	host, _, err := net.SplitHostPort(option.InitAddress[0])
	if option.DialCtxFn != nil || err != nil { // unix://
		return thisHost
	}
	if ips, err := net.DefaultResolver.LookupHost(ctx, host); err == nil {
		host = ips[0]
	}
	if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return thisHost
	}
	return strings.ToLower(host)
}

// watch probes all masters for a while, back to back but for a breath.
func watch(ctx context.Context, addrs []string, length time.Duration) ([]bench.Master, error) {
	p, err := probe.Open(ctx, addrs, probe.Options{Every: 5 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, length).Masters, nil
}
