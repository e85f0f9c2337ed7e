package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
)

const (
	testTimeout = 100 * time.Millisecond
	hour        = time.Hour        // a lease that does not run out by itself during a test
	testWait    = 10 * time.Second // of masters that were restarted
)

// A bubble is a pipeline over fake masters in virtual time: what a test measures is
// exact, and a sleep costs nothing.
type bubble struct {
	*testing.T
	fakes []*fake
	cfg   Config
	p     *Pipeline
}

// inBubble runs test with n fake masters, each answering after a millisecond. Its
// end closes the pipeline, if test has not, and checks what every end must show.
func inBubble(t *testing.T, n int, test func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{T: t, cfg: Config{Timeout: testTimeout, Queue: 1 << 17}}
		for i := range n {
			f := newFake(fmt.Sprint("m", i))
			f.delay = time.Millisecond
			b.fakes = append(b.fakes, f)
			b.cfg.Masters = append(b.cfg.Masters, Master{Address: f.address, Option: rueidis.ClientOption{InitAddress: []string{f.address}, DialCtxFn: f.dial}})
		}
		defer func() {
			if b.p != nil {
				b.p.Close()
				b.requireBooksBalance()
				require.Zero(t, b.p.up)
			}
			each(b.fakes, (*fake).end)
			time.Sleep(time.Second) // what is on its way to a fake arrives, and nobody is left asleep
		}()
		test(t, b)
	})
}

// overMasters is inBubble with a pipeline that is started.
func overMasters(t *testing.T, n int, test func(t *testing.T, b *bubble)) {
	t.Helper()
	inBubble(t, n, func(t *testing.T, b *bubble) {
		b.started()
		test(t, b)
	})
}

// each calls do with all of the fakes.
func each(fakes []*fake, do func(f *fake)) {
	for _, f := range fakes {
		do(f)
	}
}

// setAll changes settings of all of the fakes.
func setAll(fakes []*fake, change func(f *fake)) {
	each(fakes, func(f *fake) { f.set(func() { change(f) }) })
}

// started returns the bubble's pipeline, all masters up. Its pace takes them for near masters and
// sends one write at a time, although they answer after a millisecond.
func (b *bubble) started() *Pipeline {
	b.Helper()
	p := b.startedAsMeasured()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.masters {
		m.pace.Base[0], m.pace.Period = 1, time.Now().Add(100*hour)
		m.paceLocked()
	}
	return p
}

// startedAsMeasured is started, with masters that are as far away as they are.
func (b *bubble) startedAsMeasured() *Pipeline {
	b.Helper()
	p, err := New(b.Context(), b.cfg)
	require.NoError(b, err)
	require.Len(b, p.Stats().Masters, len(b.fakes))
	b.p = p
	return p
}

// cost has the masters take so long for each request.
func (b *bubble) cost(each time.Duration) {
	setAll(b.fakes, func(f *fake) { f.cost = each })
}

func (b *bubble) acquire(ctx context.Context, name string) (Outcome, error) {
	return b.p.Do(ctx, Request{Op: Acquire, Name: name, Token: "token of " + name, TTL: hour})
}

func (b *bubble) release(name string, origin Origin) (Outcome, error) {
	return b.p.Do(context.Background(), releaseOf(name, origin))
}

// ask returns the outcome of what does not fail; any goroutine may call it, and the following.
func (b *bubble) ask(q Request) Outcome {
	b.Helper()
	return outcomeOf(b, b.p, q)
}

func outcomeOf(t testing.TB, p *Pipeline, q Request) Outcome {
	t.Helper()
	out, err := p.Do(context.Background(), q)
	assert.NoError(t, err)
	return out
}

func (b *bubble) tryAcquire(name string) Outcome {
	b.Helper()
	return b.ask(Request{Op: Acquire, Name: name, Token: "token of " + name, TTL: hour})
}

func (b *bubble) mustRelease(name string, origin Origin) Outcome {
	b.Helper()
	return b.ask(releaseOf(name, origin))
}

func releaseOf(name string, origin Origin) Request {
	return Request{Op: Release, Name: name, Token: "token of " + name, TTL: hour, Origin: origin}
}

// mustAcquire acquires and asserts the verdict Won; any goroutine may call it.
func (b *bubble) mustAcquire(name string) Outcome {
	b.Helper()
	out := b.tryAcquire(name)
	assert.Equal(b, quorum.Won, out.Verdict, "%s: %+v", name, out)
	return out
}

// cycle acquires and releases; any goroutine may call it.
func (b *bubble) cycle(name string) {
	b.Helper()
	origin := b.mustAcquire(name).Origin
	assert.Equal(b, quorum.Won, b.mustRelease(name, origin).Verdict)
}

// up returns how many masters are connected.
func (b *bubble) up() int {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	return b.p.up
}

// untilUp waits until n masters are up.
func (b *bubble) untilUp(n int) {
	b.Helper()
	for range 60_000 {
		if b.up() == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	require.Equal(b, n, b.up(), "masters up after a minute: %+v", b.p.Stats())
}

// requireNoKeys asserts that no master holds a lock.
func (b *bubble) requireNoKeys() {
	b.Helper()
	for _, f := range b.fakes {
		require.Empty(b, f.keys(), f.address)
	}
}

// requireNothingPending asserts that no master still needs a release.
func (b *bubble) requireNothingPending() {
	b.Helper()
	for _, m := range b.p.Stats().Masters {
		require.Zero(b, m.PendingReleases, m.Address)
	}
}

// requireBooksBalance asserts that the pipeline's counts agree with its masters'.
func (b *bubble) requireBooksBalance() {
	b.Helper()
	p := b.p
	p.mu.Lock()
	defer p.mu.Unlock()
	up := 0
	for _, m := range p.masters {
		backlog, onWire, writes := 0, 0, 0
		for i := range m.unsent {
			backlog += m.unsent[i].unsent()
		}
		for i := range m.flights {
			onWire += m.flights[i].requests
			writes += m.flights[i].writes
		}
		require.Equal(b, backlog, m.backlog, m.address)
		require.Equal(b, onWire, m.onWire, m.address)
		require.Equal(b, writes, m.writes, m.address)
		if m.up {
			up++
		}
	}
	for i := range p.queue.classes {
		n := 0
		for c := p.queue.classes[i].first; c != nil; c = c.next {
			require.Equal(b, i, classOf(&c.req))
			n++
		}
		require.Equal(b, n, p.queue.classes[i].n)
	}
	require.Equal(b, up, p.up, "up")
	require.EqualValues(b, p.queue.classes[classOf(&Request{})].n, p.acquires.Load())
	require.Zero(b, p.voting)
}

// lateWhile has the last of three masters be late by a random time, and cut now and then, until running has ended.
func (b *bubble) lateWhile(running *sync.WaitGroup, random *rand.Rand) {
	f := b.fakes[2]
	for range 30 {
		f.set(func() { f.delay = time.Duration(random.IntN(int(testTimeout) * 5 / 4)) })
		time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
		if random.IntN(6) == 0 {
			f.cut()
		}
	}
	running.Wait()
	f.set(func() { f.delay = time.Millisecond })
	b.untilUp(3)
}

// side runs fn beside the test; the returned function waits for it.
func side(fn func()) (wait func()) {
	var running sync.WaitGroup
	running.Go(fn)
	return running.Wait
}
