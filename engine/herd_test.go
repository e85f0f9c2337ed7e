package engine

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/faultconn"
	"muxlock/internal/redisfake"
)

// herd has n processes, each with paths of its own to five masters, of 1 to 2 ms, take one
// name in turn for a millisecond. It returns how often they got it in so long.
func herd(t *testing.T, n int, long time.Duration) (got int) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(uint64(n), 0))
		cfg := Config{Masters: make([]string, 5)}
		masters := make(map[string]*redisfake.Server)
		for i := range cfg.Masters {
			cfg.Masters[i] = fmt.Sprintf("192.0.2.%d:6379", i)
			masters[cfg.Masters[i]] = redisfake.New()
			t.Cleanup(masters[cfg.Masters[i]].Close)
		}
		ctx, cancel := context.WithTimeout(t.Context(), long)
		defer cancel()
		times := make(chan int)
		for range n {
			paths := make(map[string]*faultconn.Link)
			for _, address := range cfg.Masters {
				paths[address] = faultconn.NewLink()
				paths[address].DelayRequests(time.Millisecond + time.Duration(rng.Int64N(int64(time.Millisecond))))
			}
			cfg.Client = rueidis.ClientOption{DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
				conn, err := masters[address].Dial(ctx, address, d, c)
				if err != nil {
					return nil, err
				}
				return paths[address].Wrap(conn), nil
			}}
			e, err := New(ctx, cfg)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, e.Close()) })
			go func() {
				count := 0
				for ; ; count++ {
					lock, err := e.Acquire(ctx, "name", time.Second)
					if err != nil {
						break
					}
					time.Sleep(time.Millisecond)
					_ = lock.Release(ctx)
				}
				times <- count
			}()
		}
		for range n {
			got += <-times
		}
	})
	return got
}

// Where each split vote wakes all who wait, so that they split the next one, 60 get a
// seventh of what 3 get.
func TestManyProcessesThatWantOneNameGetItAThirdAsOftenAsFew(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates 60 processes")
	}
	few, many := herd(t, 3, 4*time.Second), herd(t, 60, 4*time.Second)
	t.Logf("%d of 60, %d of 3", many, few)
	require.Greater(t, many, few/3)
}
