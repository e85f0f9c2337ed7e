package rivals

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"muxlock/bench"
)

// setnxPause is how long a waiter of setnx sleeps between two tries.
const setnxPause = 5 * time.Millisecond

var (
	errNotHeld = errors.New("rivals: the lock was not held any more")

	deleteIfMine = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
)

// setnx is the lock of countless code bases: SET NX PX on one server, a script
// that deletes what is still ours, and a fixed sleep in between.
type setnx struct{ client *redis.Client }

func openSetNX(ctx context.Context, o Options) (bench.Locker, error) {
	client, err := openGoRedis(ctx, o.Masters[0], o)
	if err != nil {
		return nil, err
	}
	return setnx{client}, nil
}

func (l setnx) Acquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	for {
		held, err := l.TryAcquire(ctx, name, ttl)
		if !errors.Is(err, bench.ErrRefused) {
			return held, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(setnxPause):
		}
	}
}

func (l setnx) TryAcquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	h := &setnxHeld{client: l.client, name: name, token: rand.Text(), until: time.Now().Add(ttl)}
	granted, err := l.client.SetNX(ctx, name, h.token, ttl).Result()
	if err != nil {
		return nil, err
	}
	if !granted {
		return nil, bench.ErrRefused
	}
	return h, nil
}

// Allowance is none.
func (l setnx) Allowance(time.Duration) time.Duration { return 0 }

func (l setnx) Close() error { return l.client.Close() }

type setnxHeld struct {
	client *redis.Client
	name   string
	token  string
	until  time.Time
}

func (h *setnxHeld) Until() time.Time { return h.until }

func (h *setnxHeld) Release(ctx context.Context) error {
	n, err := deleteIfMine.Run(ctx, h.client, []string{h.name}, h.token).Int()
	if err == nil && n == 0 {
		return errNotHeld
	}
	return err
}
