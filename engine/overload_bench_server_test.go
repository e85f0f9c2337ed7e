//go:build unix

package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"muxlock/internal/stats"
	"muxlock/internal/testing/redistest"
)

var (
	overload       = flag.Duration("overload", 30*time.Second, "how long BenchmarkOverload lasts, and a third of it at half the load")
	callerPatience = flag.Duration("patience", 3*time.Second, "of BenchmarkOverload's callers")
)

// peak is cycles a second of 1024 callers.
func peak(b *testing.B, e *Engine) float64 {
	var cycles, failed atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for i := range 1024 {
		all.Go(func() {
			for name := fmt.Sprint("peak/", i); time.Since(start) < 2*time.Second; {
				lock, err := e.Acquire(context.Background(), name, 0)
				if err == nil {
					err = lock.Release(context.Background())
				}
				if err == nil {
					cycles.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if failed.Load() > 0 {
		b.Logf("%d cycles of 1024 callers failed", failed.Load())
	}
	return float64(cycles.Load()) / time.Since(start).Seconds()
}

// strain is what nobody should see of an engine under pressure.
type strain struct{ attempts, aside, pending float64 }

func strainOf(e *Engine) (s strain) {
	st := e.Stats()
	s.attempts = float64(st.Taken + st.SplitVotes + st.NoQuorum + st.Expired)
	for _, m := range st.Masters {
		s.aside += float64(m.SetAside)
		s.pending += float64(m.PendingReleases)
	}
	return s
}

// atOnce starts as many goroutines, lets all go at the same time, and returns the ms until the last is done and how many failed.
func atOnce(count int, do func(int) error) (ms, failed float64) {
	var all sync.WaitGroup
	var failures atomic.Int64
	start := make(chan struct{})
	for i := range count {
		all.Go(func() {
			<-start
			if do(i) != nil {
				failures.Add(1)
			}
		})
	}
	begin := time.Now()
	close(start)
	all.Wait()
	return time.Since(begin).Seconds() * 1e3, float64(failures.Load())
}

// BenchmarkBurst is ten times that many goroutines that acquire own names at once, and then release them at once, on an
// engine with defaults. Of the bar, 1.5 times what as many cycles take 1024 callers and 50 ms, acquire/bar and release/bar
// are the part needed; a burst ends after 20 s, and a burst with a failure is the last. Attempts, set-aside and pending
// are sums over all bursts.
func BenchmarkBurst(b *testing.B) {
	for _, calls := range []int{1000, 10000, 60000, 100000} {
		b.Run(fmt.Sprintf("calls=%d", calls), func(b *testing.B) {
			for b.Loop() {
				burst(b, calls)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func burst(b *testing.B, calls int) {
	e := open(b, five(b), func(c *Config) { c.MasterTimeout, c.WaitWhenFull = defaultMasterTimeout, calls > defaultQueue })
	rate := peak(b, e)
	bar := 1.5*float64(calls)/rate*1e3 + 50
	locks, names := make([]*Lock, calls), make([]string, calls)
	for i := range names {
		names[i] = fmt.Sprint("burst of ", calls, "/", i) // a burst that went wrong leaves its names behind
	}
	var acquires, releases []float64
	var unacquired, unreleased float64
	var second int64
	before := strainOf(e)
	for range 10 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		ms, failed := atOnce(calls, func(i int) (err error) {
			locks[i], err = e.Acquire(ctx, names[i], 0)
			return err
		})
		acquires, unacquired = append(acquires, ms), unacquired+failed
		ms, failed = atOnce(calls, func(i int) error {
			if locks[i] == nil {
				return nil
			}
			return locks[i].Release(ctx)
		})
		releases, unreleased = append(releases, ms), unreleased+failed
		cancel()
		clear(locks)
		if len(acquires) == 2 {
			second = inUse()
		}
		if unacquired+unreleased > 0 {
			break
		}
	}
	after := strainOf(e)
	b.ReportMetric(rate, "cycles/s")
	b.ReportMetric(stats.Median(acquires), "acquire-ms")
	b.ReportMetric(stats.Median(acquires)/bar, "acquire/bar")
	b.ReportMetric(stats.Median(releases), "release-ms")
	b.ReportMetric(stats.Median(releases)/bar, "release/bar")
	b.ReportMetric(float64(len(acquires)), "bursts")
	b.ReportMetric(unacquired, "unacquired")
	b.ReportMetric(unreleased, "unreleased")
	b.ReportMetric(after.attempts-before.attempts, "failed-attempts")
	b.ReportMetric(after.aside-before.aside, "set-aside")
	b.ReportMetric(after.pending, "pending")
	b.ReportMetric(float64(second)/1e6, "heap-2nd-MB")
	b.ReportMetric(float64(inUse())/1e6, "heap-last-MB")
}

// arrivals is what became of an open loop's calls.
type arrivals struct {
	offered                      int
	cycles, refused, late, other atomic.Int64
	seconds                      []second // by planned arrival
	turns                        second   // us until the runtime runs a goroutine for the first time
}

type second struct {
	sync.Mutex
	took *hdrhistogram.Histogram // us of an acquire; a failed one has at least callerPatience
}

func (s *second) record(d time.Duration) {
	s.Lock()
	s.took.RecordValue(d.Microseconds())
	s.Unlock()
}

// p99 is in ms.
func (a *arrivals) p99(second int) float64 {
	return float64(a.seconds[second].took.ValueAtQuantile(99)) / 1e3
}

// arrive calls Acquire and Release at a rate for so long, in a goroutine for each.
func arrive(e *Engine, rate float64, d time.Duration) *arrivals {
	a := &arrivals{seconds: make([]second, int(d/time.Second)+1)}
	for i := range a.seconds {
		a.seconds[i].took = hdrhistogram.New(1, time.Minute.Microseconds(), 2)
	}
	a.turns.took = hdrhistogram.New(1, time.Minute.Microseconds(), 2)
	var all sync.WaitGroup
	start := time.Now()
	for at := time.Duration(0); at < d; at = time.Since(start) {
		ctx, cancel := context.WithTimeout(context.Background(), *callerPatience) // one for all that are due now
		for ; float64(a.offered) < rate*at.Seconds(); a.offered++ {
			planned := time.Duration(float64(a.offered) / rate * 1e9)
			if a.offered%64 == 0 {
				begun := time.Now()
				all.Go(func() { a.turns.record(time.Since(begun)) })
			}
			all.Go(func() { a.one(ctx, e, start.Add(planned), planned) })
		}
		time.AfterFunc(*callerPatience, cancel)
		time.Sleep(time.Millisecond)
	}
	all.Wait()
	return a
}

func (a *arrivals) one(ctx context.Context, e *Engine, planned time.Time, at time.Duration) {
	lock, err := e.Acquire(ctx, fmt.Sprint("arrival at ", planned.UnixNano()), 0)
	took := time.Since(planned)
	if err != nil {
		took = max(took, *callerPatience)
	}
	a.seconds[at/time.Second].record(took)
	if err == nil {
		err = lock.Release(context.Background())
	}
	switch {
	case err == nil:
		a.cycles.Add(1)
	case errors.Is(err, ErrOverloaded):
		a.refused.Add(1)
	case errors.Is(err, context.DeadlineExceeded):
		a.late.Add(1)
	default:
		a.other.Add(1)
	}
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// refusal is the CPU time of one call that the queue has no room for, or whose ctx is over, at that rate.
func refusal(b *testing.B, rate float64) time.Duration {
	masters := five(b)
	e := open(b, masters, func(c *Config) { c.Queue, c.MasterTimeout = 1, 5*time.Second })
	for _, m := range masters {
		require.NoError(b, m.Pause())
		defer m.Resume()
	}
	used := cpu(b)
	a := arrive(e, rate, 2*time.Second)
	return (cpu(b) - used) / time.Duration(max(1, a.offered))
}

// BenchmarkOverload is an open loop at a multiple of what 1024 callers reach, with the default queue, then one at half of
// it, with 1000 locks kept alive beside them; with stopped=1, one master is stopped for the middle third of the overload.
// Of the bar, at 2x 0.8 of the peak, at 10x 0.9 of it and of the CPU time that the other calls leave, goodput/bar is the part
// reached; offered/s is what the machine could call beside it all. turn-p50-ms is how long the runtime takes to run a
// goroutine that was started; one that a master's answer wakes stands in the same queue, so it bounds rounds/s. p99-1 and p99-2 are of the first and the second
// second at half the load, p99 the median of the others.
func BenchmarkOverload(b *testing.B) {
	for _, times := range []float64{2, 10} {
		for stopped := range 2 {
			b.Run(fmt.Sprintf("rate=%.0fx/stopped=%d", times, stopped), func(b *testing.B) {
				for b.Loop() {
					overloaded(b, times, stopped)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func overloaded(b *testing.B, times float64, stopped int) {
	masters := five(b)
	e := open(b, masters, masterTimeout(defaultMasterTimeout))
	most := peak(b, e)
	require.NoError(b, e.Close())
	cost := refusal(b, times*most)
	e = open(b, masters, masterTimeout(defaultMasterTimeout))
	kept := make([]*Lock, 1000)
	for i := range kept {
		var err error
		kept[i], err = e.Acquire(context.Background(), fmt.Sprint("kept/", i), 0)
		require.NoError(b, err)
		require.NoError(b, kept[i].KeepAlive(0))
		defer kept[i].Release(context.Background())
	}
	before := e.Stats()

	var stop sync.WaitGroup
	stop.Go(func() {
		for _, m := range masters[:stopped] {
			time.Sleep(*overload / 3)
			m.Pause()
			time.Sleep(*overload / 3)
			m.Resume()
		}
	})
	start := time.Now()
	over := arrive(e, times*most, *overload)
	took := time.Since(start).Seconds() // until the last is done
	rounds := float64(e.Stats().Rounds-before.Rounds) / took
	stop.Wait()
	half := arrive(e, most/2, max(*overload/3, 5*time.Second))

	lost := 0
	for _, lock := range kept {
		if lock.Err() != nil {
			lost++
		}
	}
	aside := 0.0
	for i, m := range e.Stats().Masters[stopped:] {
		aside += float64(m.SetAside - before.Masters[stopped+i].SetAside)
	}
	goodput := float64(over.cycles.Load()) / took
	refused, late := float64(over.refused.Load())/took, float64(over.late.Load())/took
	bar := 0.8 * most
	if times > 2 {
		bar = 0.9 * most * max(0, 1-(refused+late)*cost.Seconds()/float64(runtime.GOMAXPROCS(0)))
	}
	var rest []float64
	for i := 2; i < len(half.seconds)-1; i++ {
		rest = append(rest, half.p99(i))
	}
	b.ReportMetric(most, "peak/s")
	b.ReportMetric(float64(over.offered)/overload.Seconds(), "offered/s")
	b.ReportMetric(goodput, "goodput/s")
	b.ReportMetric(goodput/bar, "goodput/bar")
	b.ReportMetric(refused, "refused/s")
	b.ReportMetric(float64(cost.Nanoseconds()), "refusal-ns")
	b.ReportMetric(late, "ctx/s")
	b.ReportMetric(float64(over.turns.took.ValueAtQuantile(50))/1e3, "turn-p50-ms")
	b.ReportMetric(rounds, "rounds/s")
	b.ReportMetric(float64(over.other.Load()), "other-errors")
	b.ReportMetric(half.p99(0), "p99-1-ms")
	b.ReportMetric(half.p99(1), "p99-2-ms")
	b.ReportMetric(stats.Median(rest), "p99-ms")
	b.ReportMetric(float64(half.refused.Load()+half.late.Load()+half.other.Load()), "failed-at-half")
	b.ReportMetric(aside, "set-aside")
	b.ReportMetric(float64(lost), "kept-lost")
}

// BenchmarkDenied is 200 callers that cycle, by turns alone, on an engine of their own, and beside one that loops on
// names that the ACL denies. beside/alone is the median of five turns of their cycles.
func BenchmarkDenied(b *testing.B) {
	masters := redistest.Masters(b, 5)
	for _, m := range masters {
		redistest.Command(b, m, "ACL", "SETUSER", "locks", "on", ">secret", "~allowed:*", "~__muxlock__:*", "+@all")
	}
	asLocks := func(c *Config) {
		c.Client.Username, c.Client.Password, c.MasterTimeout = "locks", "secret", defaultMasterTimeout
	}
	calm, e := open(b, masters, asLocks), open(b, masters, asLocks)
	var ratios []float64
	var denied int64
	before := strainOf(e)
	for b.Loop() {
		for range 5 {
			alone, _ := besideDenied(b, calm, 0)
			beside, n := besideDenied(b, e, 1)
			ratios, denied = append(ratios, beside/alone), denied+n
		}
	}
	b.ReportMetric(stats.Median(ratios), "beside/alone")
	b.ReportMetric(float64(denied)/float64(len(ratios)), "denied/turn")
	b.ReportMetric(strainOf(e).aside-before.aside, "set-aside")
	b.ReportMetric(0, "ns/op")
}

// besideDenied returns how many cycles 200 callers make in a turn, and how many names are denied to others.
func besideDenied(b *testing.B, e *Engine, others int) (cycles float64, denied int64) {
	const turn = 2 * time.Second
	var done, refused atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for i := range 200 {
		all.Go(func() {
			for name := fmt.Sprint("allowed:", i); time.Since(start) < turn; done.Add(1) {
				lock, err := e.Acquire(context.Background(), name, 0)
				if err == nil {
					err = lock.Release(context.Background())
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	for range others {
		all.Go(func() {
			for i := 0; time.Since(start) < turn; i++ {
				if _, err := e.TryAcquire(context.Background(), fmt.Sprint("denied:", i), 0); !errors.Is(err, ErrDenied) {
					b.Error(err)
					return
				}
				refused.Add(1)
			}
		})
	}
	all.Wait()
	return float64(done.Load()), refused.Load()
}
