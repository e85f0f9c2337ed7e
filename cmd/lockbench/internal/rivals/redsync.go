package rivals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
)

// redsyncLocker is Redsync with its defaults except the expiry: 32 tries with 50 to 250 ms between
// them, an attempt timeout of 5 % of the expiry, a drift of 1 %, and no early return at a quorum.
type redsyncLocker struct{ foreign }

// openPool connects to one master.
type openPool func(ctx context.Context, master string, o Options) (pool redsyncredis.Pool, close func(), err error)

func goRedisPool(ctx context.Context, master string, o Options) (redsyncredis.Pool, func(), error) {
	client, err := openGoRedis(ctx, master, o)
	return redsyncgoredis.NewPool(client), func() { client.Close() }, err
}

// autoPipelinePool is go-redis with AutoPipeline and its defaults. It sends the commands of all callers together.
func autoPipelinePool(ctx context.Context, master string, o Options) (redsyncredis.Pool, func(), error) {
	client, err := openGoRedis(ctx, master, o)
	if err != nil {
		return nil, nil, err
	}
	pipeline, err := client.AutoPipeline()
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return redsyncgoredis.NewPool(pipeline), func() { pipeline.Close(); client.Close() }, nil
}

// rueidisPool is rueidis with its defaults.
func rueidisPool(_ context.Context, master string, o Options) (redsyncredis.Pool, func(), error) {
	opt, err := masters.Option(master)
	if err != nil {
		return nil, nil, err
	}
	opt.Dialer = o.dialer()
	client, err := rueidis.NewClient(opt)
	if err != nil {
		return nil, nil, fmt.Errorf("master %s: %w", masters.Redact(master), err)
	}
	return redsyncrueidis.NewPool(rueidiscompat.NewAdapter(client)), client.Close, nil
}

// openRedsync opens one pool per master.
func openRedsync(open openPool) func(context.Context, Options) (bench.Locker, error) {
	return func(ctx context.Context, o Options) (bench.Locker, error) {
		var pools []redsyncredis.Pool
		var closers []func() // of the clients
		closeAll := func() {
			for _, c := range closers {
				c()
			}
		}
		for _, master := range o.Masters {
			pool, closer, err := open(ctx, master, o)
			if err != nil {
				closeAll()
				return nil, err
			}
			pools, closers = append(pools, pool), append(closers, closer)
		}
		library := redsync.New(pools...)
		lock := func(ctx context.Context, name string, ttl time.Duration, once bool) (bench.Held, error) {
			m := library.NewMutex(name, redsync.WithExpiry(ttl))
			if once {
				return redsyncHeld{m}, m.TryLockContext(ctx)
			}
			return redsyncHeld{m}, m.LockContext(ctx)
		}
		return redsyncLocker{foreign{lock, redsyncRefused, closeAll}}, nil
	}
}

// Allowance returns the allowance of Redsync's default drift factor.
func (redsyncLocker) Allowance(ttl time.Duration) time.Duration { return ttl / 100 }

// redsyncRefused reports whether a quorum of masters has the lock, or the vote split and every master answered.
func redsyncRefused(err error) bool {
	return errors.As(err, new(*redsync.ErrTaken)) || errors.As(err, new(*redsync.ErrNodeTaken)) && !errors.As(err, new(*redsync.RedisError))
}

type redsyncHeld struct{ *redsync.Mutex }

// Extend extends to the expiry of the mutex, which is the same ttl.
func (h redsyncHeld) Extend(ctx context.Context, _ time.Duration) error {
	_, err := h.ExtendContext(ctx)
	return err
}

func (h redsyncHeld) Release(ctx context.Context) error {
	_, err := h.UnlockContext(ctx)
	return err
}
