package pipeline

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
)

// hangOn stalls the fake when it is asked for command.
func hangOn(f *fake, command string) func([]string) string {
	return func(args []string) string {
		if args[0] == command {
			f.stalled = true
			f.cutOutLocked()
			return " " // swallowed with the rest
		}
		return ""
	}
}

// cutOutLocked drops the replies that are under way, and all later ones.
func (f *fake) cutOutLocked() {
	for _, c := range f.conns {
		c.mute = true
		c.outbox = nil
	}
}

func TestCloseWaitsForCallsUnderWay(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		setAll(b.fakes, func(f *fake) { f.delay = 50 * time.Millisecond })
		first := side(func() { b.mustAcquire("first") })
		synctest.Wait()
		second := side(func() { b.mustAcquire("second") }) // queued
		synctest.Wait()
		start := time.Now()
		closed := side(b.p.Close)
		synctest.Wait()
		_, err := b.acquire(context.Background(), "late")
		require.ErrorIs(t, err, ErrClosed)
		b.p.Post(releaseOf("first", OriginForeign)) // a release is taken as long as something is under way
		closed()
		first()
		second()
		require.LessOrEqual(t, time.Since(start), 100*time.Millisecond)
		for _, f := range b.fakes {
			require.Equal(t, []string{"second"}, f.keys())
		}
		_, err = b.release("second", 2)
		require.ErrorIs(t, err, ErrClosed)
		b.p.Close() // again
	})
}

func TestCloseIsBoundedAndAnswersEverybody(t *testing.T) {
	for name, hung := range map[string]int{"one hung": 1, "three hung": 3, "all hung": 5} {
		t.Run(name, func(t *testing.T) {
			overMasters(t, 5, func(t *testing.T, b *bubble) {
				setAll(b.fakes[:hung], func(f *fake) { f.stalled = true })
				var callers sync.WaitGroup
				for i := range 50 {
					callers.Go(func() {
						out := b.tryAcquire(fmt.Sprint("name", i))
						want := quorum.NoQuorum
						if hung == 1 {
							want = quorum.Won
						}
						assert.Equal(t, want, out.Verdict)
					})
				}
				synctest.Wait()
				start := time.Now()
				b.p.Close()
				require.LessOrEqual(t, time.Since(start), 3*testTimeout)
				callers.Wait()
				require.LessOrEqual(t, time.Since(start), 3*testTimeout)
			})
		})
	}
}

func TestCloseDoesNotWaitForAProbe(t *testing.T) {
	for name, fault := range map[string]func(*fake){
		"silent dial":   func(f *fake) { f.silent = true },
		"hung greeting": func(f *fake) { f.stalled = true },
		"hung probe":    func(f *fake) { f.hook = hangOn(f, "INFO") },
	} {
		t.Run(name, func(t *testing.T) {
			overMasters(t, 3, func(t *testing.T, b *bubble) {
				f := b.fakes[0]
				f.set(func() { fault(f) })
				f.cut()
				b.cycle("meets the cut")
				time.Sleep(time.Second)
				for range 10 { // at several moments of the probe
					time.Sleep(130 * time.Millisecond)
				}
				start := time.Now()
				b.p.Close()
				require.LessOrEqual(t, time.Since(start), 2*testTimeout+time.Millisecond)
			})
		})
	}
}

func TestReleaseThatIsTakenDuringCloseIsSent(t *testing.T) {
	times := 200
	if testing.Short() {
		times = 40
	}
	for range times {
		overMasters(t, 3, func(t *testing.T, b *bubble) {
			setAll(b.fakes, func(f *fake) { f.delay = 0 })
			var callers sync.WaitGroup
			for i := range 8 {
				callers.Go(func() {
					for {
						out, err := b.release(fmt.Sprint("name", i), 1)
						if err != nil {
							assert.ErrorIs(t, err, ErrClosed)
							return
						}
						if !assert.Equal(t, quorum.Denied, out.Verdict, "no master is away: %+v", out) {
							return
						}
					}
				})
			}
			b.p.Close()
			callers.Wait()
		})
		if t.Failed() {
			return
		}
	}
}
