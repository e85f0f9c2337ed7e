package pipeline

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redlock"
	"muxlock/internal/testing/await"
	"muxlock/pipeline/internal/conn"
)

// A blocker is user code that does not return before the test lets it, whatever its ctx does.
type blocker struct {
	on      atomic.Bool
	goOn    chan struct{}
	blocked atomic.Int32 // calls that have not returned
}

func (k *blocker) block() {
	if k.on.Load() {
		k.blocked.Add(1)
		<-k.goOn
		k.blocked.Add(-1)
	}
}

// withBlocker runs test with a blocker in each function that Config may give.
func withBlocker(t *testing.T, test func(t *testing.T, b *bubble, k *blocker)) {
	for _, where := range []string{"DialCtxFn", "AuthCredentialsFn"} {
		t.Run(where, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				k := &blocker{goOn: make(chan struct{})}
				defer close(k.goOn)
				for i := range b.cfg.Masters {
					option := &b.cfg.Masters[i].Option
					if where == "DialCtxFn" {
						connect := option.DialCtxFn
						option.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
							k.block()
							return connect(context.WithoutCancel(ctx), address, d, c)
						}
					} else {
						option.AuthCredentialsFn = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
							k.block()
							return rueidis.AuthCredentials{}, nil
						}
					}
				}
				test(t, b, k)
			})
		})
	}
}

func TestNewIsBoundedThoughUserCodeDoesNotReturn(t *testing.T) {
	withBlocker(t, func(t *testing.T, b *bubble, k *blocker) {
		k.on.Store(true)
		begin := time.Now()
		_, err := New(t.Context(), b.cfg)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "Fn has not returned")
		require.Less(t, time.Since(begin), 2*conn.DialTimeout(testTimeout))

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		begin = time.Now()
		_, err = New(ctx, b.cfg)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 10*time.Millisecond, time.Since(begin))
	})
}

func TestCloseDoesNotWaitForUserCodeThatDoesNotReturn(t *testing.T) {
	withBlocker(t, func(t *testing.T, b *bubble, k *blocker) {
		b.started()
		k.on.Store(true)
		b.fakes[0].cut()
		time.Sleep(time.Second)
		require.Equal(t, 2, b.up())
		begin := time.Now()
		b.p.Close()
		require.LessOrEqual(t, time.Since(begin), 2*testTimeout, "what Close promises")
	})
}

func TestUserCodeThatDoesNotReturnDoesNotPileUpAndItsMasterComesBackWithIt(t *testing.T) {
	withBlocker(t, func(t *testing.T, b *bubble, k *blocker) {
		b.started()
		k.on.Store(true)
		b.fakes[0].cut()
		time.Sleep(10 * time.Minute)
		require.Equal(t, 2, b.up())
		require.EqualValues(t, conn.MostCalls, k.blocked.Load())
		require.ErrorContains(t, b.p.Stats().Masters[0].Cause, "calls of")
		dials := b.fakes[0].connections()
		k.on.Store(false)
		for range conn.MostCalls {
			k.goOn <- struct{}{}
		}
		time.Sleep(time.Millisecond)
		require.Zero(t, k.blocked.Load())
		b.fakes[0].set(func() {
			for _, c := range b.fakes[0].conns[dials:] {
				require.True(t, c.closed, "a connection that came too late")
			}
		})
		b.untilUp(3)
	})
}

func TestTrackersUserCodeThatDoesNotReturnBlocksNobody(t *testing.T) {
	withBlocker(t, func(t *testing.T, b *bubble, k *blocker) {
		b.started()
		hold("a", b.fakes, hour)
		k.on.Store(true) // for the trackers' connections
		a := b.await("a", time.Second)
		time.Sleep(10 * time.Second)
		<-a.done
		require.NoError(t, a.err, "it polls")
		b.cycle("b")
		require.Equal(t, 3, b.up())
		begin := time.Now()
		b.p.Close()
		require.Less(t, time.Since(begin), testTimeout)
	})
}

// redialled returns how long after its connection was cut a master was dialled.
func (b *bubble) redialled(f *fake) time.Duration {
	b.Helper()
	before, cut := len(f.dialTimes()), time.Now()
	f.cut()
	await.True(b, func() bool { return len(f.dialTimes()) > before })
	b.untilUp(len(b.fakes))
	return f.dialTimes()[before].Sub(cut)
}

func TestConnectionsOfAFleetThatEndTogetherAreReplacedOverASecond(t *testing.T) {
	if testing.Short() {
		t.Skip("many repetitions of one")
	}
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		const times = 400   // so that the shares below are not missed by chance
		var early, late int // in the first and last quarter of the pause
		for range times {
			time.Sleep(2 * redlock.LongestRedial)
			switch d := b.redialled(b.fakes[0]); {
			case d < redlock.LongestRedial/4:
				early++
			case d > redlock.LongestRedial*3/4:
				late++
			}
			time.Sleep(2 * redlock.LongestRedial)
			b.cycle("a")
			require.Less(t, b.redialled(b.fakes[0]), 2*redlock.FirstRedial, "it is in use")
		}
		require.InDelta(t, times/4, early, times/8)
		require.InDelta(t, times/4, late, times/8)
	})
}

// A stopped server takes connections. When it goes on, it carries out what was sent before it was set aside.
func TestWhatAStoppedMasterCarriesOutIsUndoneAsSoonAsItGoesOn(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		f := b.fakes[2]
		for i := range 30 {
			f.set(func() { f.stalled = true })
			b.cycle("a")
			time.Sleep(4*time.Second + time.Duration(i)*37*time.Millisecond)
			require.Equal(t, 2, b.up())
			f.set(func() { f.stalled = false })
			time.Sleep(4 * redlock.FirstRedial)
			require.Empty(t, f.keys(), "after %d", i)
			b.untilUp(3)
			time.Sleep(2 * redlock.LongestRedial)
		}
	})
}
