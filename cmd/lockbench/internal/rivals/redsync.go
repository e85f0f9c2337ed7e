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
type redsyncLocker struct {
	sync    *redsync.Redsync
	closers []func() // of the clients
}

func openRedsyncGoRedis(ctx context.Context, o Options) (bench.Locker, error) {
	return openRedsync(o, func(master string) (redsyncredis.Pool, func(), error) {
		client, err := openGoRedis(ctx, master, o)
		return redsyncgoredis.NewPool(client), func() { client.Close() }, err
	})
}

// openRedsyncAutoPipeline opens Redsync over go-redis with AutoPipeline and its defaults. It sends
// the commands of all callers together.
func openRedsyncAutoPipeline(ctx context.Context, o Options) (bench.Locker, error) {
	return openRedsync(o, func(master string) (redsyncredis.Pool, func(), error) {
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
	})
}

func openRedsyncRueidis(ctx context.Context, o Options) (bench.Locker, error) {
	return openRedsync(o, func(master string) (redsyncredis.Pool, func(), error) {
		client, err := openRueidis(ctx, master, o)
		if err != nil {
			return nil, nil, err
		}
		return redsyncrueidis.NewPool(rueidiscompat.NewAdapter(client)), client.Close, nil
	})
}

// openRueidis connects rueidis with its defaults to one master, and checks that it answers.
func openRueidis(ctx context.Context, master string, o Options) (rueidis.Client, error) {
	opt, err := masters.Option(master)
	if err != nil {
		return nil, err
	}
	opt.Dialer = o.dialer()
	client, err := rueidis.NewClient(opt)
	if err == nil {
		err = client.Do(ctx, client.B().Ping().Build()).Error()
	}
	if err != nil {
		if client != nil {
			client.Close()
		}
		return nil, fmt.Errorf("master %s: %w", masters.Redact(master), err)
	}
	return client, nil
}

// openRedsync opens one pool per master.
func openRedsync(o Options, open func(master string) (redsyncredis.Pool, func(), error)) (bench.Locker, error) {
	var pools []redsyncredis.Pool
	l := &redsyncLocker{}
	for _, master := range o.Masters {
		pool, closer, err := open(master)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		pools, l.closers = append(pools, pool), append(l.closers, closer)
	}
	l.sync = redsync.New(pools...)
	return l, nil
}

func (l *redsyncLocker) Acquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return l.lock(ctx, name, ttl, (*redsync.Mutex).LockContext)
}

func (l *redsyncLocker) TryAcquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return l.lock(ctx, name, ttl, (*redsync.Mutex).TryLockContext)
}

func (l *redsyncLocker) lock(ctx context.Context, name string, ttl time.Duration, by func(*redsync.Mutex, context.Context) error) (bench.Held, error) {
	m := l.sync.NewMutex(name, redsync.WithExpiry(ttl))
	if err := by(m, ctx); err != nil {
		return nil, redsyncError(ctx, err)
	}
	return redsyncHeld{m}, nil
}

// Allowance returns the allowance of Redsync's default drift factor.
func (l *redsyncLocker) Allowance(ttl time.Duration) time.Duration { return ttl / 100 }

func (l *redsyncLocker) Close() error {
	for _, c := range l.closers {
		c()
	}
	return nil
}

// redsyncError returns the ctx error that Redsync swallows. It returns bench.ErrRefused if a quorum
// of masters has the lock, or if the vote split and every master answered.
func redsyncError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	if errors.As(err, new(*redsync.ErrTaken)) || errors.As(err, new(*redsync.ErrNodeTaken)) && !errors.As(err, new(*redsync.RedisError)) {
		return bench.ErrRefused
	}
	return err
}

type redsyncHeld struct{ m *redsync.Mutex }

func (h redsyncHeld) Until() time.Time { return h.m.Until() }

// Extend extends to the expiry of the mutex, which is the same ttl.
func (h redsyncHeld) Extend(ctx context.Context, _ time.Duration) error {
	_, err := h.m.ExtendContext(ctx)
	return err
}

func (h redsyncHeld) Release(ctx context.Context) error {
	_, err := h.m.UnlockContext(ctx)
	return err
}
