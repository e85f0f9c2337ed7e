package rivals

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/redis/go-redis/v9"

	"muxlock/cmd/lockbench/internal/masters"
)

// go-redis would write every failed dial to standard error, amid the progress; the
// calls return the same errors.
func init() { redis.SetLogger(silence{}) }

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// openGoRedis connects go-redis to one master and proves that it answers.
//
// go-redis holds one connection for each command in flight. On loopback its default
// of ten per processor is the fastest at every number of workers (Redsync on two
// processors, five masters, 1024 workers: 6.8 k cycles/s with 20 connections, 5.5 k
// with 512), so it stays. Over a distance the pool would be a queue of its own, so
// there it grows with the workers, up to 512.
func openGoRedis(ctx context.Context, master string, o Options) (*redis.Client, error) {
	opt := &redis.Options{Addr: master}
	if strings.Contains(master, "://") {
		var err error
		if opt, err = redis.ParseURL(master); err != nil {
			return nil, fmt.Errorf("master %s: %w", masters.Redact(master), err)
		}
	}
	opt.PoolSize = 10 * runtime.GOMAXPROCS(0)
	if o.Distant {
		opt.PoolSize = max(opt.PoolSize, min(o.Workers, 512))
	}
	client := redis.NewClient(opt)
	if err := client.Ping(ctx).Err(); err != nil {
		client.Close()
		return nil, fmt.Errorf("master %s: %w", masters.Redact(master), err)
	}
	return client, nil
}
