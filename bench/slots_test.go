package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAuditLetsReadersShareAName(t *testing.T) {
	a := shares(ReadWrite(80))
	for worker := range 2 * readerSlots {
		stamp := a.enterReader(0, worker, 10*ms, 100*ms, at(10*ms))
		require.Equal(t, worker < readerSlots, a.leave(0, stamp, 20*ms), "with a slot")
		a.enterReader(0, worker, 20*ms, 100*ms, at(20*ms))
	}
	require.Zero(t, a.overlaps().Load())
}

func TestAuditSeesAWriterAmongReaders(t *testing.T) {
	a := shares(ReadWrite(80))
	a.enterReader(0, 1, 10*ms, 100*ms, at(10*ms))
	a.enter(1, 2, 20*ms, 100*ms, 0, at(20*ms)) // another name
	require.Zero(t, a.overlaps().Load())
	a.enter(0, 2, 50*ms, 150*ms, 0, at(50*ms))
	require.EqualValues(t, 1, a.overlaps().Load())
	a.enterReader(1, 1, 60*ms, 150*ms, at(60*ms))
	require.EqualValues(t, 2, a.overlaps().Load())
	require.EqualValues(t, 50*ms+1, a.firstViolation(0).Load())
	require.EqualValues(t, 60*ms+1, a.firstViolation(1).Load())
}

func TestAuditIsSilentBetweenReadersAndWritersThatFollowEachOther(t *testing.T) {
	a := shares(ReadWrite(80))
	one, other := a.enterReader(0, 1, 10*ms, 100*ms, at(10*ms)), a.enterReader(0, 1+readerSlots, 10*ms, 100*ms, at(10*ms))
	require.True(t, a.leave(0, other, 20*ms))
	require.True(t, a.leave(0, one, 20*ms))
	require.False(t, a.leave(0, one, 20*ms))
	stamp := a.enter(0, 3, 21*ms, 50*ms, 0, at(21*ms))
	a.leave(0, stamp, 22*ms)
	a.enterReader(0, 1, 23*ms, 60*ms, at(23*ms))          // never released
	a.enter(0, 3, 60*ms, 90*ms, 0, at(60*ms))             // neither
	a.enterReader(0, 2, 90*ms, 120*ms, at(90*ms))         // after the writer's validity
	require.Zero(t, a.enterReader(0, 4, 9, 9, at(90*ms))) // makes no claim
	a.enterReader(1, 4, 9*ms, 12*ms, at(90*ms))           // over long ago
	a.enter(1, 3, 90*ms, 95*ms, 0, at(90*ms))
	require.Zero(t, a.overlaps().Load())
}

// The last of the readers has no slot.
func TestAHandoverToAWriterBeginsWhenTheLastReaderLeaves(t *testing.T) {
	r := &runner{audit: shares(ReadWrite(80)), waits: true, base: time.Now()}
	until := 100 * ms
	leaves := func(w *worker, now int64) { w.leave(opRead, now, until) }
	var workers []*worker
	for number := range readerSlots + 1 {
		w := &worker{r: r, number: number, keys: []int{0}}
		w.enter(opRead, &crowdHeld{}, ms, ms, math.MaxInt64)
		workers = append(workers, w)
	}
	last := workers[readerSlots]
	require.Zero(t, last.stamps[0])
	for _, w := range workers[:readerSlots] {
		leaves(w, 2*ms)
	}
	leaves(last, 90*ms)
	since, _ := r.audit.handover(0, 0, ms, 91*ms)
	require.Equal(t, ms, since)
	leaves(last, until)
	since, _ = r.audit.handover(0, 0, ms, until)
	require.EqualValues(t, -1, since, "after its validity it hands nothing over")
}

// A writer gets the name when the validity of a reader who was killed ends. Another reader had left before.
func TestAReaderWhoLeavesOthersBehindHandsNothingOver(t *testing.T) {
	r := &runner{audit: shares(ReadWrite(80)), waits: true, base: time.Now()}
	reader := &worker{r: r, number: 1, keys: []int{0}}
	reader.enter(opRead, &crowdHeld{}, ms, ms, 100*ms)
	killed := &worker{r: r, number: 2, keys: []int{0}}
	killed.enter(opRead, &crowdHeld{}, 2*ms, 2*ms, 50*ms)
	reader.leave(opRead, 10*ms, 100*ms)
	since, _ := r.audit.handover(0, 0, 5*ms, 50*ms)
	require.EqualValues(t, -1, since)
	reader.enter(opRead, &crowdHeld{}, 50*ms, 50*ms, 100*ms)
	reader.leave(opRead, 60*ms, 100*ms)
	since, _ = r.audit.handover(0, 0, 55*ms, 61*ms)
	require.Equal(t, ms, since, "the last one does")
}

func TestAuditSeesTheLastReaderWhoStays(t *testing.T) {
	for stays := range 8 {
		a := shares(ReadWrite(80))
		stamps := make([]int64, 8)
		for worker := range stamps {
			stamps[worker] = a.enterReader(0, worker, 10*ms, 100*ms, at(10*ms))
		}
		for worker, stamp := range stamps {
			if worker != stays {
				a.leave(0, stamp, 20*ms)
			}
		}
		a.enter(0, 9, 30*ms, 100*ms, 0, at(30*ms))
		require.EqualValues(t, 1, a.overlaps().Load())
	}
}

// Worker 1 got the lock from 0 to 10 ms, but enters at 20 ms, when another rightly holds it.
func TestAuditForgivesReadersAndWritersThatSleptThroughTheirLease(t *testing.T) {
	a := shares(ReadWrite(80))
	a.enter(0, 2, 12*ms, 100*ms, 0, at(12*ms))
	a.enterReader(0, 1, 0, 10*ms, at(20*ms))
	a.enterReader(1, 2, 12*ms, 100*ms, at(12*ms))
	require.False(t, a.leave(1, a.enter(1, 1, 0, 10*ms, 0, at(20*ms)), 20*ms))
	require.Zero(t, a.overlaps().Load())
	a.enterReader(0, 3, 30*ms, 100*ms, at(30*ms)) // the right ones are remembered
	a.enter(1, 3, 30*ms, 100*ms, 0, at(30*ms))
	require.EqualValues(t, 2, a.overlaps().Load())
}

// A killed process leaves its reader behind. The one that takes its place has workers of the same numbers.
func TestAuditCountsAKilledReaderUntilItsValidityEnds(t *testing.T) {
	a := shares(ReadWrite(80))
	a.enterReader(0, 1, 10*ms, 100*ms, at(10*ms))
	a.leave(0, a.enterReader(0, 1, 20*ms, 110*ms, at(20*ms)), 30*ms)
	a.leave(0, a.enter(0, 2, 99*ms, 110*ms, 0, at(99*ms)), 99*ms)
	require.EqualValues(t, 1, a.overlaps().Load())
	a.enter(0, 2, 100*ms, 110*ms, 0, at(100*ms))
	require.EqualValues(t, 1, a.overlaps().Load())
}

func TestReadersDoNotDisturbTheFencesOfWriters(t *testing.T) {
	a := shares(ReadWrite(80))
	for n, fence := range []uint64{7, 8, 8, 5} {
		from := int64(10*n) * ms
		a.leave(0, a.enter(0, 1, from, from+5*ms, fence, at(from)), from+ms)
		a.leave(0, a.enterReader(0, 1, from+2*ms, from+5*ms, at(from+2*ms)), from+3*ms)
	}
	require.EqualValues(t, 2, a.stale().Load())
	require.Zero(t, a.overlaps().Load())
}

// crowd is a lock in memory with readers. It may be broken.
type crowd struct {
	noop
	broken string     // intrudes: readers let writers in; joins: a writer lets readers in; forgets: the first reader to leave takes all with it
	mu     sync.Mutex // guards the following
	names  map[string]*crowdName
	most   int // readers of a name at once
}

type crowdName struct {
	readers int
	writer  bool
	fence   uint64
}

type crowdHeld struct {
	c     *crowd
	n     *crowdName
	until time.Time
	fence uint64
	reads bool
}

func newCrowd(broken string) *crowd {
	return &crowd{broken: broken, names: map[string]*crowdName{}}
}

func (c *crowd) try(name string, reads bool, ttl time.Duration) (Held, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.names[name]
	if n == nil {
		n = &crowdName{}
		c.names[name] = n
	}
	h := &crowdHeld{c: c, n: n, until: time.Now().Add(ttl), reads: reads}
	switch {
	case reads && (!n.writer || c.broken == "joins"):
		n.readers++
		c.most = max(c.most, n.readers)
	case !reads && !n.writer && (n.readers <= 0 || c.broken == "intrudes"):
		n.writer = true
		n.fence++
		h.fence = n.fence
	default:
		return nil, ErrRefused
	}
	return h, nil
}

func (c *crowd) Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	return untilHeld(ctx, time.Millisecond, func() (Held, error) { return c.try(name, false, ttl) })
}

func (c *crowd) AcquireShared(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	return untilHeld(ctx, time.Millisecond, func() (Held, error) { return c.try(name, true, ttl) })
}

func (c *crowd) AcquirePermit(ctx context.Context, name string, _ int, ttl time.Duration) (Held, error) {
	return nil, ErrRefused
}

func (h *crowdHeld) Until() time.Time { return h.until }
func (h *crowdHeld) Fence() uint64    { return h.fence }
func (h *crowdHeld) Slot() int        { return 0 }
func (h *crowdHeld) Release(context.Context) error {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	switch {
	case !h.reads:
		h.n.writer = false
	case h.c.broken == "forgets":
		h.n.readers = 0
	default:
		h.n.readers--
	}
	return nil
}

func crowded(op Op) Config {
	return Config{Workers: 8, Keys: 2, Dist: Uniform(), Duration: 2 * time.Second, TTL: time.Minute, Op: op, Seed: 1,
		Hold: Exp(3 * time.Millisecond), Think: Exp(time.Millisecond)}
}

func TestAuditOfARunSeesWhatReadersAndWritersMustNot(t *testing.T) {
	for _, broken := range []string{"", "intrudes", "joins", "forgets"} {
		c := newCrowd(broken)
		r := measure(t, c, crowded(ReadWrite(80)))
		require.Equal(t, broken != "", r.Safety.Violated(), broken)
		require.Zero(t, r.Safety.FenceViolations)
		require.Greater(t, c.most, 2, "readers at once")
		require.InEpsilon(t, 0.2, float64(r.Totals.Fenced)/float64(r.Totals.Acquired), 0.2, "the writers")
		require.Positive(t, r.Latency[HandoverTime].Count)
		require.LessOrEqual(t, r.Latency[HandoverTime].Count, r.Totals.Fenced, "to writers only")
	}
	c := newCrowd("joins")
	r := measure(t, c, crowded(ReadWrite(100)))
	require.False(t, r.Safety.Violated(), "nobody writes")
	require.Zero(t, r.Totals.Fenced)
	require.Nil(t, r.Latency[HandoverTime])
	require.Nil(t, r.Latency[UncontendedTime])
	r = measure(t, newCrowd(""), crowded(ReadWrite(0)))
	require.False(t, r.Safety.Violated())
	require.Equal(t, r.Totals.Acquired, r.Totals.Fenced)
}

func TestAuditSeesOneHolderTooMany(t *testing.T) {
	for _, limit := range []int{1, 3} {
		a := shares(Permit(limit))
		var stamps []int64
		for worker := range limit {
			stamps = append(stamps, a.enterPermit(0, worker, 10*ms, 100*ms, at(10*ms)))
			a.enterPermit(1, worker, 10*ms, 50*ms, at(10*ms)) // another name
		}
		for round := range 2 * limit { // one leaves, another comes
			require.True(t, a.leave(0, stamps[round%limit], 20*ms))
			stamps[round%limit] = a.enterPermit(0, limit+round, 20*ms, 100*ms, at(20*ms))
		}
		for worker := range limit {
			a.enterPermit(1, worker, 50*ms, 90*ms, at(50*ms)) // after those that were never released
		}
		require.Zero(t, a.overlaps().Load())
		require.Zero(t, a.enterPermit(0, 99, 30*ms, 100*ms, at(30*ms)))
		require.EqualValues(t, 1, a.overlaps().Load())
		require.EqualValues(t, 30*ms+1, a.firstViolation(0).Load())
		require.True(t, a.leave(0, stamps[0], 40*ms))
		require.NotZero(t, a.enterPermit(0, 99, 40*ms, 100*ms, at(40*ms)))
		require.EqualValues(t, 1, a.overlaps().Load())
	}
}

func TestAuditForgivesTheHolderOfAPermitThatSleptThroughItsLease(t *testing.T) {
	a := shares(Permit(2))
	a.enterPermit(0, 2, 12*ms, 100*ms, at(12*ms))
	a.enterPermit(0, 3, 12*ms, 100*ms, at(12*ms))
	require.Zero(t, a.enterPermit(0, 1, 0, 10*ms, at(20*ms)))
	require.Zero(t, a.enterPermit(0, 1, 20*ms, 20*ms, at(20*ms)), "makes no claim")
	require.Zero(t, a.overlaps().Load())
	a.enterPermit(1, 2, 0, 15*ms, at(0))         // ends while worker 1 sleeps,
	a.enterPermit(1, 3, 16*ms, 99*ms, at(16*ms)) // and this one follows it
	require.NotZero(t, a.enterPermit(1, 1, 10*ms, 100*ms, at(20*ms)))
	require.Zero(t, a.overlaps().Load())
	a.enterPermit(0, 4, 30*ms, 100*ms, at(30*ms)) // the right ones are remembered
	require.EqualValues(t, 1, a.overlaps().Load())
}

// showing returns a clock that shows times one after the other, and then the last.
func showing(times ...int64) func() int64 {
	return func() int64 {
		now := times[0]
		if len(times) > 1 {
			times = times[1:]
		}
		return now
	}
}

func TestAuditForgivesALeaseThatEndsWhileItLooks(t *testing.T) {
	a := shares(Permit(1))
	a.enterPermit(0, 2, 0, 15*ms, at(0))
	a.enterPermit(1, 2, 12*ms, 100*ms, at(12*ms))
	a.enterPermit(1, 1, 0, 10*ms, showing(9*ms, 20*ms)) // its own
	require.NotZero(t, a.enterPermit(0, 3, 9*ms, 100*ms, showing(14*ms, 15*ms)), "the other's")
	require.Zero(t, a.overlaps().Load())
	a.enterPermit(0, 1, 20*ms, 30*ms, showing(20*ms, 29*ms))
	require.EqualValues(t, 1, a.overlaps().Load())
}

func TestSlotsAreFullOnlyIfNobodyMovesBetweenTwoLooks(t *testing.T) {
	one, other, moved := stampOf(1, 20*ms), stampOf(2, 15*ms), stampOf(2, 30*ms)
	require.True(t, takenThroughout([]int64{one, other}, []int64{one, other}, 14*ms))
	require.False(t, takenThroughout([]int64{one, other}, []int64{one, other}, 15*ms))
	require.False(t, takenThroughout([]int64{one, other}, []int64{one, moved}, 14*ms))
	require.False(t, takenThroughout([]int64{one, 0}, []int64{one, 0}, 14*ms))
}

// permits grants slots permits of each name, whatever the limit. The fences of each slot grow, those of slot 0 above all others. broken
// is the slot whose fences fall; -1: none.
type permits struct {
	fencedLeases
	slots, broken int
}

type permit struct {
	Held
	slot  int
	fence uint64
}

func (p permit) Slot() int     { return p.slot }
func (p permit) Fence() uint64 { return p.fence }

func (p permits) AcquireShared(context.Context, string, time.Duration) (Held, error) {
	return nil, ErrRefused
}

func (p permits) AcquirePermit(ctx context.Context, name string, limit int, ttl time.Duration) (Held, error) {
	return untilHeld(ctx, p.poll, func() (Held, error) {
		for _, slot := range rand.Perm(p.slots) {
			h, err := p.TryAcquire(ctx, fmt.Sprintf("%s %d", name, slot), ttl)
			if err != nil {
				continue
			}
			fence := uint64(p.slots-slot)<<40 + fenceOf(h)
			if slot == p.broken {
				fence = 1<<50 - fenceOf(h)
			}
			return permit{h, min(slot, limit-1), fence}, nil
		}
		return nil, ErrRefused
	})
}

func TestAuditSeesAFenceOfASlotThatDoesNotGrow(t *testing.T) {
	for _, names := range []int{2, spreadNames + 1} {
		a := &audit{newTable(Config{Keys: names, Dist: Uniform(), Op: Permit(3)})}
		for n, c := range []struct {
			key, slot int
			fence     uint64
			stale     int64
		}{
			{0, 2, 70, 0}, {0, 1, 60, 0}, {0, 0, 50, 0}, {1, 2, 7, 0}, {1, 0, 9, 0}, // of different slots and names
			{0, 2, 71, 0}, {0, 0, 51, 0}, {0, 1, 61, 0}, {1, 2, 8, 0}, {1, 0, 10, 0},
			{0, 1, 0, 0},                 // has none
			{0, 1, 61, 1},                // equal
			{0, 2, 66, 2}, {0, 2, 67, 2}, // smaller; the hold before had a smaller one
			{1, 2, 1, 3}, {0, 0, 52, 3},
		} {
			from := int64(n) * ms
			stamp := a.enterPermit(c.key, 1, from, from+ms/2, at(from))
			a.compareFence(c.key, a.permitFence(c.key, c.slot), from, from+ms/2, c.fence, at(from))
			require.Equal(t, c.stale, a.stale().Load(), n)
			require.True(t, a.leave(c.key, stamp, from))
		}
		require.Zero(t, a.overlaps().Load())
		require.Panics(t, func() { a.compareFence(0, a.permitFence(0, 3), 0, ms, 1, at(0)) }, "a slot beyond the limit")
	}
}

func TestAuditForgivesTheFenceOfAPermitThatSleptThroughItsLease(t *testing.T) {
	a := shares(Permit(2))
	a.compareFence(0, a.permitFence(0, 1), 12*ms, 100*ms, 9, at(12*ms))
	a.compareFence(0, a.permitFence(0, 1), 0, 10*ms, 8, at(20*ms))
	require.Zero(t, a.stale().Load())
	a.compareFence(0, a.permitFence(0, 1), 30*ms, 100*ms, 9, at(30*ms)) // the right one is remembered
	require.EqualValues(t, 1, a.stale().Load())
	require.EqualValues(t, 30*ms+1, a.firstViolation(0).Load())
	a.compareFence(0, a.permitFence(0, 1), 20*ms, 20*ms, 50, at(20*ms)) // makes no claim
	a.compareFence(0, a.permitFence(0, 1), 40*ms, 100*ms, 10, at(40*ms))
	require.EqualValues(t, 1, a.stale().Load())
}

func TestAuditOfARunSeesOneHolderTooManyAndFencesOfASlotThatFall(t *testing.T) {
	for _, c := range []struct {
		slots, broken   int
		overlaps, stale bool
	}{{2, -1, false, false}, {3, -1, false, false}, {3, 0, false, true}, {3, 2, false, true}, {4, -1, true, true}} {
		r := measure(t, permits{newFencedLeases(growing), c.slots, c.broken}, crowded(Permit(3)))
		require.Equal(t, c.overlaps, r.Safety.Overlaps > 0, "%+v", c)
		require.Equal(t, c.stale, r.Safety.FenceViolations > 0, "%+v", c)
		require.Greater(t, r.Totals.Acquired, int64(500))
		require.Equal(t, r.Totals.Acquired, r.Totals.Fenced)
		require.Nil(t, r.Latency[HandoverTime], "nobody hands over to a certain one")
	}
}
