package rolling

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"muxlock/internal/testing/await"
)

// monotonic reads the clock that all processes of the machine share.
func monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}

// A report says that a hold was valid at a time, and whether all masters had its key, as far as its process knew.
type report struct {
	hold string // unique
	at   time.Duration
	all  bool
}

// A span is what is known of a hold: it was valid from first to last.
type span struct {
	hold        string
	first, last time.Duration
	all         bool
}

// An audit has the holds of one name by all processes.
type audit struct {
	mu    sync.Mutex // guards the following
	spans map[string]*span
	top   *span // began last
}

func (a *audit) add(r report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.spans[r.hold]
	if s == nil {
		if a.spans == nil {
			a.spans = make(map[string]*span)
		}
		s = &span{hold: r.hold, first: r.at}
		a.spans[r.hold] = s
		if a.top == nil || a.top.first < s.first {
			a.top = s
		}
	}
	s.last, s.all = max(s.last, r.at), r.all
}

// newest returns the hold that began last.
func (a *audit) newest() span {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.top == nil {
		return span{}
	}
	return *a.top
}

// seconds returns the holds that began while another was valid.
func (a *audit) seconds() (found []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []*span
	for _, s := range a.spans {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *span) int { return int(a.first - b.first) })
	for i, latest := 1, 0; i < len(all); i++ {
		if s, before := all[i], all[latest]; s.first <= before.last {
			found = append(found, fmt.Sprintf("%s, valid from %v, while %s was, from %v to %v", s.hold, s.first, before.hold, before.first, before.last))
		}
		if all[i].last > all[latest].last {
			latest = i
		}
	}
	return found
}

func TestAuditSeesHoldsThatOverlap(t *testing.T) {
	var a audit
	for _, r := range []report{{"one", 10, true}, {"one", 20, true}, {"two", 21, true}, {"three", 40, true}, {"two", 30, true}} {
		a.add(r)
	}
	require.Empty(t, a.seconds())
	require.Equal(t, span{"three", 40, 40, true}, a.newest())
	a.add(report{"four", 25, true})
	require.Len(t, a.seconds(), 1)
	a.add(report{"one", 60, true})
	require.Len(t, a.seconds(), 4-1)
}

// Two processes hold at once if they do not ask the same masters for the same name.
func TestAuditSeesAPlantedSecondHolder(t *testing.T) {
	t.Parallel()
	r := newRoll(t, setting{masters: 1})
	r.start("keeps", "")
	await.Within(t, limit, func() bool { return r.audit.newest().all })
	require.Empty(t, r.audit.seconds())
	first := r.audit.newest()
	r.start("keeps", "elsewhere:")
	await.Within(t, limit, func() bool { return r.audit.newest().hold != first.hold })
	await.Within(t, limit, func() bool { return len(r.audit.seconds()) == 1 })
}
