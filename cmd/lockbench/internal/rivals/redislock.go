package rivals

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"

	"muxlock/bench"
)

// redislockPause is the linear backoff in redislock's documentation. By default redislock does not
// wait at all.
const redislockPause = 100 * time.Millisecond

// openRedislock opens bsm/redislock on one server. Without a deadline in ctx it gives up after one ttl;
// that counts as refused.
func openRedislock(ctx context.Context, o Options) (bench.Locker, error) {
	client, err := openGoRedis(ctx, o.Masters[0], o)
	if err != nil {
		return nil, err
	}
	library := redislock.New(client)
	return foreign{
		lock: func(ctx context.Context, name string, ttl time.Duration, once bool) (bench.Held, error) {
			retry := &backoff{redislockPause, time.Now()}
			if once {
				retry.pause = 0
			}
			lock, err := library.Obtain(ctx, name, ttl, &redislock.Options{RetryStrategy: retry})
			return redislockHeld{lock, retry.attempt.Add(ttl)}, err
		},
		refused: func(err error) bool {
			return errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, context.DeadlineExceeded)
		},
		close: func() { _ = client.Close() },
	}, nil
}

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

func (h redislockHeld) Until() time.Time { return h.until }
