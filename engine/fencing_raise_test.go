package engine

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
	"muxlock/internal/redisfake"
	"muxlock/internal/redlock"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/faultconn"
	"muxlock/scripts"
)

// fencedFakes are an engine and three masters that are set up, behind links, in virtual time.
type fencedFakes struct {
	*testing.T
	e       *Engine
	masters []*redisfake.Server
	links   []*faultconn.Link
}

func overFencedFakes(t *testing.T, test func(t *testing.T, f *fencedFakes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fencedFakes{T: t}
		cfg, dials := Config{MasterTimeout: await.Patience}, make(map[string]func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error))
		for i := range 3 {
			s, l, address := redisfake.New(), faultconn.NewLink(), fmt.Sprintf("192.0.2.%d:6379", i)
			f.masters, f.links = append(f.masters, s), append(f.links, l)
			cfg.Masters = append(cfg.Masters, address)
			dials[address] = func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
				conn, err := s.Dial(ctx, address, d, c)
				if err != nil {
					return nil, err
				}
				return l.Wrap(conn), nil
			}
		}
		cfg.Client.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
			return dials[address](ctx, address, d, c)
		}
		require.NoError(t, Admin.SetUp(t.Context(), cfg, SetUpOptions{MastersAreNew: true}))
		cfg.Fencing = true
		var err error
		f.e, err = New(t.Context(), cfg)
		require.NoError(t, err)
		defer func() {
			require.NoError(t, f.e.Close())
			for i, s := range f.masters {
				f.links[i].Cut()
				s.Close()
			}
			time.Sleep(time.Second)
		}()
		test(t, f)
	})
}

const fencedRegisters = "__muxlock__:registers"

// spread makes registers differ, so that a raise is needed whichever two masters answer first, after delay.
func (f *fencedFakes) spread(names []string, delay time.Duration) {
	for i, l := range f.links {
		for _, name := range names {
			f.setRegister(i, name, f.register(i, name)+10*uint64(i))
		}
		l.Delay(delay)
	}
}

// register returns what a master has in the register of a name.
func (f *fencedFakes) register(master int, name string) uint64 {
	f.Helper()
	text := f.masters[master].Do("HGET", fencedRegisters, strconv.Itoa(fencing.Register(name))).(string)
	value, err := strconv.ParseUint(text, 10, 64)
	require.NoError(f, err)
	return value
}

func (f *fencedFakes) setRegister(master int, name string, value uint64) {
	f.Helper()
	f.masters[master].Do("HSET", fencedRegisters, strconv.Itoa(fencing.Register(name)), strconv.FormatUint(value, 10))
}

// A late grant may be larger than the token, so a token that the late master stores by the raise
// is not one that an attempt after it must exceed there.
func TestLateGrantDoesNotCountForTheRaise(t *testing.T) {
	overFencedFakes(t, func(t *testing.T, f *fencedFakes) {
		base := f.register(0, "name")
		f.setRegister(0, "name", base+10) // a raise is needed
		f.masters[1].Answer(func(words []string) any {
			if words[0] == "EVALSHA" && words[1] == scripts.FencedExtend.SHA1 {
				f.links[1].HoldReplies(true)
			}
			return nil
		})
		f.links[2].HoldReplies(true)
		got := make(chan *Lock, 1)
		go func() {
			lock, err := f.e.TryAcquire(t.Context(), "name", 0)
			if err == nil {
				got <- lock
			}
		}()
		synctest.Wait()
		require.EqualValues(t, 1, f.e.Stats().FencesRaised)
		require.Equal(t, base+11, f.register(1, "name"), "the raise was executed, its answer is under way")
		f.links[2].HoldReplies(false)
		synctest.Wait()
		require.Equal(t, base+11, f.register(2, "name"), "here, too")
		require.Empty(t, got, "one of those that granted stores it, as far as is known")
		f.links[1].HoldReplies(false)
		synctest.Wait()
		require.Len(t, got, 1)
		lock := <-got
		require.Equal(t, fencing.Fence(base+11, 0), lock.Fence())
		require.NoError(t, lock.Release(t.Context()))
	})
}

func TestValidityOfALockThatWasRaisedCountsFromItsAcquire(t *testing.T) {
	overFencedFakes(t, func(t *testing.T, f *fencedFakes) {
		const ttl, delay = 10 * time.Second, 500 * time.Millisecond
		for i, l := range f.links { // whichever two answer first, a raise is needed
			f.setRegister(i, "name", f.register(i, "name")+10*uint64(i))
			l.Delay(delay)
		}
		begun := time.Now()
		lock, err := f.e.TryAcquire(t.Context(), "name", ttl)
		require.NoError(t, err)
		require.EqualValues(t, 1, f.e.Stats().FencesRaised)
		require.Equal(t, 2*delay, time.Since(begun))
		require.Equal(t, redlock.Validity(ttl, 0, redlock.DefaultDrift), lock.Until().Sub(begun))
		require.NoError(t, lock.Release(t.Context()))
	})
}

func TestExtendsRaiseRegistersToTheTokenOfTheLock(t *testing.T) {
	overFencedFakes(t, func(t *testing.T, f *fencedFakes) {
		const ttl = 10 * time.Second
		lock, err := f.e.TryAcquire(t.Context(), "name", ttl)
		require.NoError(t, err)
		token := lock.Fence() >> 16
		synctest.Wait()
		for what, extend := range map[string]func(){
			"Extend":    func() { require.NoError(t, lock.Extend(t.Context(), ttl)) },
			"KeepAlive": func() { require.NoError(t, lock.KeepAlive(0)); time.Sleep(ttl) },
		} {
			f.setRegister(2, "name", token-1) // as of one that was skipped
			extend()
			synctest.Wait()
			require.Equal(t, token, f.register(2, "name"), what)
		}
		require.NoError(t, lock.Release(t.Context()))
	})
}
