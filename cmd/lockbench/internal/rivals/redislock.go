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
	return l.obtain(ctx, name, ttl, redislockPause)
}

func (l redislocker) TryAcquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return l.obtain(ctx, name, ttl, 0)
}

func (l redislocker) obtain(ctx context.Context, name string, ttl, pause time.Duration) (bench.Held, error) {
	retry := &backoff{pause, time.Now()}
	lock, err := l.lock.Obtain(ctx, name, ttl, &redislock.Options{RetryStrategy: retry})
	ownDeadline := ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded)
	switch {
	case errors.Is(err, redislock.ErrNotObtained) || ownDeadline:
		return nil, bench.ErrRefused
	case err != nil:
		return nil, err
	}
	return &redislockHeld{lock, retry.attempt.Add(ttl)}, nil
}

func (l redislocker) Close() error { return l.client.Close() }

// backoff is redislock's linear backoff; a pause of 0 allows no retry. It also keeps the earliest start
// of the next attempt, since redislock does not report when a lock expires.
type backoff struct {
	pause   time.Duration
	attempt time.Time
}

func (b *backoff) NextBackoff() time.Duration {
	b.attempt = time.Now()
	return b.pause
}

type redislockHeld struct {
	*redislock.Lock
	until time.Time
}

func (h *redislockHeld) Until() time.Time { return h.until }
