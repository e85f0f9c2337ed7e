package rivals

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"muxlock/bench"
)

// redislockPause is the linear backoff in redislock's documentation. By default redislock does not
// wait at all.
const redislockPause = 100 * time.Millisecond

// redislocker is bsm/redislock on one server. Without a deadline in ctx it gives up after one ttl;
// that counts as refused.
type redislocker struct {
	client *redis.Client
	lock   *redislock.Client
}

func openRedislock(ctx context.Context, o Options) (bench.Locker, error) {
	client, err := openGoRedis(ctx, o.Masters[0], o)
	if err != nil {
		return nil, err
	}
	return redislocker{client, redislock.New(client)}, nil
}

func (l redislocker) Acquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	retry := &backoff{attempt: time.Now()}
	lock, err := l.lock.Obtain(ctx, name, ttl, &redislock.Options{RetryStrategy: retry})
	if err != nil {
		return nil, redislockError(ctx, err)
	}
	return &redislockHeld{lock, retry.attempt.Add(ttl)}, nil
}

func (l redislocker) TryAcquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	start := time.Now()
	lock, err := l.lock.Obtain(ctx, name, ttl, nil)
	if err != nil {
		return nil, redislockError(ctx, err)
	}
	return &redislockHeld{lock, start.Add(ttl)}, nil
}

func (l redislocker) Close() error { return l.client.Close() }

func redislockError(ctx context.Context, err error) error {
	ownDeadline := ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded)
	if errors.Is(err, redislock.ErrNotObtained) || ownDeadline {
		return bench.ErrRefused
	}
	return err
}

// backoff is redislock's linear backoff. It also keeps the earliest start of the next attempt,
// since redislock does not report when a lock expires.
type backoff struct{ attempt time.Time }

func (b *backoff) NextBackoff() time.Duration {
	b.attempt = time.Now()
	return redislockPause
}

type redislockHeld struct {
	*redislock.Lock
	until time.Time
}

func (h *redislockHeld) Until() time.Time { return h.until }
