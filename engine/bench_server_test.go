package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

// BenchmarkCycle acquires and releases own names on five masters of this machine,
// BenchmarkFencedCycle with fencing tokens, BenchmarkCycleWithHolder with a Config.Holder, and
// BenchmarkCycleWithoutNative with the commands that old servers have, too:
//
//	go test -run '^$' -bench Cycle ./engine
func BenchmarkCycle(b *testing.B) { benchmarkCycles(b, five(b)) }

func BenchmarkCycleWithoutNative(b *testing.B) { benchmarkCycles(b, withoutNative(b)) }

// withoutNative returns five masters that do not allow the native commands.
func withoutNative(b *testing.B) []*redisserver.Server {
	masters := redistest.Masters(b, 5)
	for _, m := range masters {
		for _, right := range redistest.NativeRights(b, m) {
			redistest.Command(b, m, "ACL", "SETUSER", "default", strings.Replace(right, "+", "-", 1))
		}
	}
	return masters
}

func BenchmarkCycleWithHolder(b *testing.B) {
	benchmarkCycles(b, five(b), holder("web-7.example.com/4211"))
}

func BenchmarkFencedCycle(b *testing.B) { benchmarkCycles(b, fencedSet(b, 5), fenced) }

// BenchmarkSet is BenchmarkCycle with a set of four names; an operation is a set.
func BenchmarkSet(b *testing.B) { benchmarkSets(b, five(b)) }

func BenchmarkSetWithoutNative(b *testing.B) { benchmarkSets(b, withoutNative(b)) }

func BenchmarkFencedSet(b *testing.B) { benchmarkSets(b, fencedSet(b, 5), fenced) }

// BenchmarkSetOnOneMaster compares with clients of one master.
func BenchmarkSetOnOneMaster(b *testing.B) { benchmarkSets(b, redistest.Masters(b, 1)) }

func benchmarkSets(b *testing.B, masters []*redisserver.Server, changes ...func(*Config)) {
	cycle := func(e *Engine, name string) (held, error) {
		return e.AcquireAll(context.Background(), numbered(name, 4), 0)
	}
	for _, workers := range []int{1, 64} {
		b.Run(fmt.Sprintf("masters=%d/names=4/workers=%d", len(masters), workers), func(b *testing.B) { benchmarkCycle(b, workers, masters, cycle, changes...) })
	}
}

func acquireOne(e *Engine, name string) (held, error) {
	return e.Acquire(context.Background(), name, 0)
}

// BenchmarkShared is BenchmarkCycle with readers, of own names and of one name.
func BenchmarkShared(b *testing.B) {
	masters := five(b)
	for name, acquire := range map[string]func(*Engine, string) (held, error){
		"own": func(e *Engine, name string) (held, error) { return e.AcquireShared(context.Background(), name, 0) },
		"one": func(e *Engine, _ string) (held, error) { return e.AcquireShared(context.Background(), "name", 0) },
	} {
		for _, workers := range []int{1, 64, 1024} {
			b.Run(fmt.Sprintf("masters=5/names=%s/workers=%d", name, workers), func(b *testing.B) { benchmarkCycle(b, workers, masters, acquire) })
		}
	}
}

// BenchmarkMeasuredCycle is BenchmarkCycle with Config.Measure.
func BenchmarkMeasuredCycle(b *testing.B) { benchmarkCycles(b, five(b), measured) }

func benchmarkCycles(b *testing.B, masters []*redisserver.Server, changes ...func(*Config)) {
	for _, workers := range []int{1, 64, 1024} {
		b.Run(fmt.Sprintf("masters=5/workers=%d", workers), func(b *testing.B) { benchmarkCycle(b, workers, masters, acquireOne, changes...) })
	}
}

func benchmarkCycle(b *testing.B, workers int, masters []*redisserver.Server, acquire func(*Engine, string) (held, error), changes ...func(*Config)) {
	e := open(b, masters, append(changes, masterTimeout(defaultMasterTimeout))...)
	var left atomic.Int64
	var mu sync.Mutex // guards all
	all := hdrhistogram.New(1, time.Minute.Nanoseconds(), 2)
	own := make([]*hdrhistogram.Histogram, workers)
	for i := range own {
		own[i] = hdrhistogram.New(1, time.Minute.Nanoseconds(), 2)
	}
	work := func(name string, own *hdrhistogram.Histogram) {
		for left.Add(-1) >= 0 {
			begin := time.Now()
			lock, err := acquire(e, name)
			if err == nil {
				err = lock.Release(context.Background())
			}
			if err != nil {
				b.Error(err)
				return
			}
			own.RecordValue(time.Since(begin).Nanoseconds())
		}
		mu.Lock()
		defer mu.Unlock()
		all.Merge(own)
	}
	left.Store(int64(b.N))
	servers := cpuOf(b, masters)
	b.ReportAllocs()
	b.ResetTimer()
	var every sync.WaitGroup
	for i := range workers {
		every.Go(func() { work(fmt.Sprint(b.Name(), "/", i), own[i]) })
	}
	every.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpuOf(b, masters)-servers).Nanoseconds())/float64(b.N), "servers-cpu-ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "locks/s")
	b.ReportMetric(float64(all.ValueAtQuantile(50)), "p50-ns")
	b.ReportMetric(float64(all.ValueAtQuantile(99)), "p99-ns")
	b.ReportMetric(100*float64(e.Stats().FencesRaised)/float64(b.N), "%raised")
}

// BenchmarkMany has one goroutine acquire and release a thousand names at once. An operation is one name, as in
// BenchmarkCycle. BenchmarkManyWithoutNative has the commands that old servers have, too.
func BenchmarkMany(b *testing.B) { benchmarkMany(b, five(b)) }

func BenchmarkManyWithoutNative(b *testing.B) { benchmarkMany(b, withoutNative(b)) }

func benchmarkMany(b *testing.B, masters []*redisserver.Server) {
	e := open(b, masters, masterTimeout(defaultMasterTimeout))
	names := numbered(b.Name(), 1000)
	servers := cpuOf(b, masters)
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; left -= len(names) {
		locks := locksOf(e.AcquireMany(context.Background(), names[:min(left, len(names))], 0))
		if slices.Contains(locks, nil) {
			b.Fatal("a name was not acquired")
		}
		if errs := e.ReleaseMany(context.Background(), locks); errs != nil {
			b.Fatal(errs)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64((cpuOf(b, masters)-servers).Nanoseconds())/float64(b.N), "servers-cpu-ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "locks/s")
}

// cpuOf returns the CPU time that the servers have used.
func cpuOf(t testing.TB, masters []*redisserver.Server) (used time.Duration) {
	t.Helper()
	for _, m := range masters {
		for line := range strings.Lines(redistest.Command(t, m, "INFO", "cpu").(string)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name == "used_cpu_user" || name == "used_cpu_sys" {
				seconds, err := strconv.ParseFloat(value, 64)
				require.NoError(t, err)
				used += time.Duration(seconds * float64(time.Second))
			}
		}
	}
	return used
}
