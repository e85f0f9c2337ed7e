package rivals

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"muxlock/cmd/lockbench/internal/masters"
)

// go-redis would write every failed dial to standard error, between the lines of progress. Its
// calls return the same errors.
func init() { logging.Disable() }

// openGoRedis connects go-redis to one master and checks that it answers. All options but the
// pool size are go-redis's defaults.
func openGoRedis(ctx context.Context, master string, o Options) (*redis.Client, error) {
	url := master
	if !strings.Contains(url, "://") {
		url = "redis://" + url
	}
	opt, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("master %s: %w", masters.Redact(master), err)
	}
	opt.PoolSize = poolSize(o)
	if o.From != "" {
		dialer := o.dialer()
		dialer.Timeout = 5 * time.Second // go-redis's default
		opt.Dialer = dialer.DialContext
	}
	client := redis.NewClient(opt)
	if err := client.Ping(ctx).Err(); err != nil {
		client.Close()
		return nil, fmt.Errorf("master %s: %w", masters.Redact(master), err)
	}
	return client, nil
}
