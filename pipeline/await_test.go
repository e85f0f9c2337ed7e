package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline/internal/wakeup"
)

// An awaiting is an Await beside the test, in virtual time.
type awaiting struct {
	b      *bubble
	done   chan struct{}
	at     time.Time // when it returned
	err    error
	cancel context.CancelFunc
}

func (b *bubble) await(name string, poll time.Duration) *awaiting {
	ctx, cancel := context.WithCancel(context.Background())
	a := &awaiting{b: b, done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(a.done)
		a.err = b.p.Await(ctx, name, poll)
		a.at = time.Now()
	}()
	return a
}

// requireWaiting asserts that it has not returned, after d more.
func (a *awaiting) requireWaiting(d time.Duration) {
	a.b.Helper()
	time.Sleep(d)
	synctest.Wait()
	select {
	case <-a.done:
		require.FailNow(a.b, "woken", "%+v", a.b.p.Stats())
	default:
	}
}

// requireWoken asserts that it returns, and when.
func (a *awaiting) requireWoken(at time.Time) {
	a.b.Helper()
	a.requireWokenWithin(at, 0)
}

func (a *awaiting) requireWokenWithin(from time.Time, d time.Duration) {
	a.b.Helper()
	select {
	case <-a.done:
	case <-time.After(2 * hour):
		require.FailNow(a.b, "never woken", "%+v", a.b.p.Stats())
	}
	require.NoError(a.b, a.err)
	require.GreaterOrEqual(a.b, a.at.Sub(from), time.Duration(0), "too early")
	require.LessOrEqual(a.b, a.at.Sub(from), d, "too late")
}

// requireNothingAwaited asserts that all names are forgotten.
func (b *bubble) requireNothingAwaited() {
	b.Helper()
	synctest.Wait()
	requireNothingAwaited(b, b.p)
}

func requireNothingAwaited(t testing.TB, p *Pipeline) {
	t.Helper()
	require.Empty(t, p.wakeups.Awaited())
}

// hold makes masters hold name, each for its ttl.
func hold(name string, fakes []*fake, ttls ...time.Duration) {
	for i, f := range fakes {
		f.set(func() { f.acquireLocked(name, "token of "+name, fmt.Sprint(ttls[i%len(ttls)].Milliseconds())) })
	}
}

// free deletes name.
func free(name string, fakes []*fake) {
	setAll(fakes, func(f *fake) { f.releaseLocked(name, "token of "+name) })
}

func (b *bubble) tracking() (n int) {
	for _, m := range b.p.Stats().Masters {
		if m.Tracking {
			n++
		}
	}
	return n
}

func (b *bubble) reads() (n uint64) {
	for _, m := range b.p.Stats().Masters {
		n += m.Reads
	}
	return n
}

func TestAwaitIsWokenByTheRelease(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		out := b.mustAcquire("a")
		a := b.await("a", time.Second)
		a.requireWaiting(10 * time.Minute)
		require.Equal(t, 5, b.tracking())
		require.EqualValues(t, 5, b.reads(), "it does not poll")
		start := time.Now()
		b.mustRelease("a", out.Origin)
		a.requireWoken(start.Add(time.Millisecond))
		b.requireNothingAwaited()
		for _, f := range b.fakes {
			for _, l := range f.since(1) {
				require.Contains(t, []string{"HELLO", "CLIENT", "PTTL"}, l.args[0], "a tracker asks for nothing else")
			}
		}
	})
}

func TestConnectionThatNobodyWaitsOnIsClosedAndOpenedAgain(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		f := b.fakes[0]
		hold("a", b.fakes, hour)
		a := b.await("a", hour)
		a.requireWaiting(10 * wakeup.KeepTracking)
		require.Equal(t, 3, b.tracking(), "somebody waits")
		a.cancel()
		time.Sleep(2*wakeup.KeepTracking + time.Second)
		require.Zero(t, b.tracking())
		asked := len(f.since(1))
		time.Sleep(time.Minute)
		require.Len(t, f.since(1), asked, "no signs of life")
		require.Equal(t, 2, f.connections())

		a = b.await("a", hour)
		a.requireWaiting(time.Second)
		require.Equal(t, 3, b.tracking())
		require.Equal(t, 3, f.connections())
		a.cancel()
	})
}

func TestMinorityThatIsFreeWakesNobody(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		hold("a", b.fakes[:4], hour) // one is absent
		a := b.await("a", time.Second)
		a.requireWaiting(time.Minute)
		free("a", b.fakes[:1]) // one has changed
		a.requireWaiting(time.Minute)
		require.EqualValues(t, 6, b.reads(), "what was pushed is read again, once")
		start := time.Now()
		free("a", b.fakes[1:2])
		a.requireWoken(start)
	})
}

func TestPushOfAnExtendIsCorrectedByReading(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		hold("a", b.fakes, 100*time.Millisecond)
		a := b.await("a", time.Second)
		a.requireWaiting(10 * time.Millisecond)
		for _, f := range b.fakes {
			f.set(func() { f.extendLocked("a", "token of a", fmt.Sprint(hour.Milliseconds())) })
			a.requireWaiting(5 * time.Millisecond)
		}
		a.requireWaiting(time.Minute) // beyond the alarm that was set before
		setAll(b.fakes, func(f *fake) { f.extendLocked("a", "token of a", fmt.Sprint(2*hour.Milliseconds())) })
		a.requireWokenWithin(time.Now(), 0) // all at once: in vain
	})
}

func TestNameThatIsTakenAgainIsNotFree(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		hold("a", b.fakes[1:], hour)
		a := b.await("a", time.Second)
		a.requireWaiting(time.Minute)
		hold("a", b.fakes[:1], hour)
		synctest.Wait()
		free("a", b.fakes[1:2]) // only one of three is free at any moment
		a.requireWaiting(time.Minute)
		free("a", b.fakes[:1])
		a.requireWokenWithin(time.Now(), 0)
	})
}

func TestAlarmIsWhenAQuorumOfLeasesHasRunOut(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		start := time.Now()
		hold("a", b.fakes, 500*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond, 400*time.Millisecond, 200*time.Millisecond)
		b.await("a", time.Second).requireWoken(start.Add(300 * time.Millisecond))

		start = time.Now()
		hold("b", b.fakes[:3], 300*time.Millisecond, 100*time.Millisecond, 200*time.Millisecond) // two are absent
		b.await("b", time.Second).requireWoken(start.Add(100 * time.Millisecond))
	})
}

func TestAttemptAtTheAlarmComesNeitherEarlyNorLate(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		const away = 40 * time.Millisecond // from a command's sending to its execution
		setAll(b.fakes, func(f *fake) { f.delay = away })
		hold("a", b.fakes, 500*time.Millisecond)
		ends := time.Now().Add(500 * time.Millisecond)
		b.await("a", hour).requireWokenWithin(ends.Add(-away), 2*time.Millisecond)
		b.mustAcquire("a")
		require.WithinRange(t, time.Now(), ends, ends.Add(2*time.Millisecond))
	})
}

func TestEndOfContextAndCloseEndTheWaitAtOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		p := b.started()
		hold("a", b.fakes, hour)
		one, two := b.await("a", hour), b.await("a", hour)
		one.requireWaiting(time.Minute)
		two.requireWaiting(0)
		start := time.Now()
		one.cancel()
		<-one.done
		require.ErrorIs(t, one.err, context.Canceled)
		require.Equal(t, start, one.at)
		two.requireWaiting(time.Minute)

		b.fakes[0].set(func() { b.fakes[0].stalled = true }) // Close has something to wait for
		call := side(func() { _, _ = b.acquire(context.Background(), "b") })
		synctest.Wait()
		start = time.Now()
		closed := side(p.Close)
		<-two.done
		require.ErrorIs(t, two.err, ErrClosed)
		require.Equal(t, start, two.at)
		closed()
		call()
		b.requireNothingAwaited()
		require.ErrorIs(t, p.Await(context.Background(), "a", hour), ErrClosed)
		require.Zero(t, b.tracking())
	})
}

func TestCloseDoesNotWaitForATrackersDialOrRead(t *testing.T) {
	for _, fault := range []string{"dial", "greeting", "read", "read without tracking"} {
		t.Run(fault, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				p := b.started()
				hold("a", b.fakes, hour)
				for _, f := range b.fakes {
					f.set(func() {
						switch fault {
						case "dial":
							f.silent = true
						case "greeting":
							f.hook = hangOn(f, "HELLO")
						case "read":
							f.hook = hangOn(f, "PTTL")
						default:
							hang, refuse := hangOn(f, "PTTL"), refusing("CLIENT TRACKING")
							f.hook = func(args []string) string { return cmp.Or(refuse(args), hang(args)) }
						}
					})
				}
				a := b.await("a", hour)
				a.requireWaiting(20 * time.Millisecond)
				start := time.Now()
				p.Close()
				require.Less(t, time.Since(start), 10*time.Millisecond)
				<-a.done
				require.ErrorIs(t, a.err, ErrClosed)
			})
		})
	}
}

func TestAllWhoWaitForANameAreWoken(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		hold("a", b.fakes, hour)
		one := b.await("a", hour)
		one.requireWaiting(time.Minute)
		two, three := b.await("a", hour), b.await("a", hour)
		two.requireWaiting(time.Minute)
		require.EqualValues(t, 3, b.reads(), "what is armed is not read again")
		three.cancel()
		synctest.Wait()
		start := time.Now()
		free("a", b.fakes)
		one.requireWoken(start)
		two.requireWoken(start)
		b.requireNothingAwaited()
	})
}
