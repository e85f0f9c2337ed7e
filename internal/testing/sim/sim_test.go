package sim

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"muxlock/internal/testing/draw"
)

var (
	schedules = flag.Int("schedules", 0, "how many; 0: 2 with -short, else 12")
	seed      = flag.Uint64("seed", 0, "of the first schedule, and the only one without -schedules; 0: drawn")
	shrink    = flag.Bool("shrink", true, "drop faults from a schedule that fails while it still does")
	only      = flag.String("faults", "all", "numbers of the only faults of that schedule, as 0,3; empty: none")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // a schedule leaves much behind and keeps little
	runtime.GOMAXPROCS(1)   // its goroutines wait for each other: a second processor costs half as much again
	os.Exit(m.Run())
}

func TestSchedules(t *testing.T) {
	first, n := *seed, *schedules
	switch {
	case n > 0:
	case first != 0:
		n = 1
	case testing.Short():
		n = 2
	default:
		n = 12
	}
	if first == 0 {
		first = draw.Seed(t)
	}
	var least uint64
	all := totals{counts: make(map[string]int), cpu: cpu()}
	for i := range n {
		s, err := Draw(first+uint64(i), 20).Only(*only)
		require.NoError(t, err)
		if i > 0 && i%1000 == 0 {
			t.Logf("%d played", i)
		}
		r := Run(t, s)
		all.add(r)
		if i%10 == 9 {
			heap := heapInUse()
			least = cmp.Or(least, heap) // some memory is taken once
			require.Less(t, heap, least+16<<20, "bytes in use after schedule %d; %d after the tenth", i+1, least)
		}
		if len(r.Violations) > 0 {
			t.Error(report(t, s, r))
			break
		}
	}
	t.Logf("%d of %d schedules from seed %d\n%v", all.runs, n, first, &all)
}

// heapInUse is what is left after a garbage collection.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// report shrinks a schedule that failed. The schedule fails again in most runs, not in all: Go's scheduler is
// not part of the seed.
func report(t *testing.T, s Schedule, r Result) string {
	fails := func(s Schedule) bool {
		for range 3 {
			if len(Run(t, s).Violations) > 0 {
				return true
			}
		}
		return false
	}
	command := fmt.Sprintf("go test ./internal/testing/sim -run TestSchedules -v -seed %d", s.Seed)
	text := fmt.Sprintf("%s\nrepeat with: %s", strings.Join(r.Violations, "\n"), command)
	if *only != "all" || !*shrink {
		return fmt.Sprintf("%s\n%v", text, s)
	}
	left := Shrink(s, fails)
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(left), " ", ","), "[]")
	return fmt.Sprintf("%s\n       with: %s -faults \"%s\"\n%v", text, command, numbers, s.with(left))
}

// totals sum up the schedules.
type totals struct {
	counts  map[string]int
	holds   int
	healing []time.Duration
	runs    int
	slowest time.Duration
	cpu     time.Duration // of this process before the first
}

// cpu is the time that this process has used.
func cpu() time.Duration {
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func (a *totals) add(r Result) {
	a.runs++
	for k, n := range r.counts {
		a.counts[k] += n
	}
	a.holds += len(r.holds)
	a.healing = append(a.healing, r.healing...)
	a.slowest = max(a.slowest, r.slowest)
}

func (a *totals) String() string {
	var cells []string
	sums := make(map[string]int)
	for k, n := range a.counts {
		cells = append(cells, fmt.Sprintf("%s %d", k, n))
		what, _, _ := strings.Cut(k, " ")
		sums[what] += n
	}
	slices.Sort(cells)
	slices.Sort(a.healing)
	last := append([]time.Duration{0}, a.healing...)[len(a.healing)]
	return fmt.Sprintf("each %v of CPU, %d calls, %d holds, %d events; slowest %.2f timeouts; kept locks on all masters again %d times, after %v at most\n%s",
		((cpu() - a.cpu) / time.Duration(a.runs)).Round(time.Millisecond), sums["call"]/a.runs, a.holds/a.runs, sums["event"]/a.runs, float64(a.slowest)/1000, len(a.healing), last, strings.Join(cells, ", "))
}
