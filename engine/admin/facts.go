package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/guard"
	"muxlock/internal/serverinfo"
	"muxlock/pipeline"
)

// facts is what Check saw of one master.
type facts struct {
	address string
	host    string // the machine that its name stands for; thisHost if it is this one
	err     error  // why it cannot be reached
	info    serverinfo.Info
	seen    pipeline.MasterStats // what the engine has seen of it
	stuck   bool                 // it cannot vote before others do
	config  map[string]string    // of CONFIG GET; absent: not permitted

	tracking error // why CLIENT TRACKING does not work
	watchers int64 // connections that listen as Sentinels do; below 0: not permitted
	slow     slowlog
	secured  string // how the connection is secured
}

// slowlog sums up the commands of the last hour that a master itself calls slow.
type slowlog struct {
	err     error
	count   int
	longest time.Duration
}

const (
	limit = 5 * time.Second // for all questions to one master
	hour  = 3600

	thisHost = "this machine"
)

// ask fills in what the master says of itself.
func (f *facts) ask(ctx context.Context, option rueidis.ClientOption) error {
	f.secured = "plain TCP"
	switch {
	case option.TLSConfig != nil:
		f.secured = "TLS"
	case strings.HasPrefix(option.InitAddress[0], "/"):
		f.secured = "a socket file"
	}
	f.host = resolve(ctx, option)
	client, err := connect(option, limit)
	if err != nil {
		return err
	}
	defer client.Close()
	text, err := client.Do(ctx, client.B().Info().Build()).ToString()
	if err != nil {
		return fmt.Errorf("INFO: %w", err)
	}
	f.info = serverinfo.Parse(text)
	f.config = map[string]string{}
	for _, name := range []string{"appendfsync", "no-appendfsync-on-rewrite", "timeout", "maxclients", "client-output-buffer-limit", "tracking-table-max-keys"} {
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
	return nil
}

func connect(option rueidis.ClientOption, timeout time.Duration) (rueidis.Client, error) {
	option.ForceSingleClient, option.DisableCache = true, true // never a cluster
	option.DisableRetry = true
	option.Dialer.Timeout = timeout
	option.ConnWriteTimeout = timeout
	client, err := rueidis.NewClient(guard.Option(option))
	if err != nil && client != nil {
		client.Close()
	}
	return client, err
}

// tryTracking sends what a waiter sends, to be notified when a lock is released.
func tryTracking(ctx context.Context, client rueidis.Client) error {
	c, done := client.Dedicate()
	defer done()
	for _, words := range [][]string{
		{"CLIENT", "TRACKING", "ON", "OPTIN"},
		{"CLIENT", "CACHING", "YES"},
		{"PTTL", pipeline.ReservedPrefix + "tracked:" + rand.Text()},
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

// resolve returns which machine an address means, as far as its name tells.
func resolve(ctx context.Context, option rueidis.ClientOption) string {
	host, _, err := net.SplitHostPort(option.InitAddress[0])
	if err != nil { // a socket file
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
