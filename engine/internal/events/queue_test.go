package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// lines is a log as one text for each line.
type lines struct {
	slog.Handler
	mu  sync.Mutex // guards the following
	all []string
}

func (*lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	var out strings.Builder
	fmt.Fprint(&out, r.Level, " ", r.Message)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprint(&out, " ", a); return true })
	l.add(out.String())
	return nil
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

// take returns the lines since the last call, once the queue waits.
func (l *lines) take() (taken []string) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	taken, l.all = l.all, nil
	return taken
}

// inBubble runs a test with a queue that begins with an event that does not return before goOn is called.
func inBubble(t *testing.T, test func(t *testing.T, q *Queue, w *Warning, goOn func(), log *lines)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		w := &Warning{Text: "failed", Level: slog.LevelWarn}
		q := New(slog.New(&log), w)
		wait := make(chan struct{})
		q.Add(func() { <-wait })
		synctest.Wait()
		defer q.Close()
		test(t, q, w, func() { close(wait); synctest.Wait() }, &log)
	})
}

func TestEventsAreDeliveredInOrderAndBlockNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue, _ *Warning, goOn func(), log *lines) {
		say := func(what string) func() { return func() { log.add(what) } }
		q.Add(say("first"))
		q.Require("a:1", say("second"))
		q.Log(slog.LevelInfo, false, "third", "of", 5)
		q.Log(slog.LevelError, true, "fourth")
		q.Add(say("fifth"))
		require.Empty(t, log.take())
		goOn()
		require.Equal(t, []string{"first", "second", "INFO third of=5", "ERROR fourth", "fifth"}, log.take())
		require.Zero(t, q.Dropped())
	})
}

func TestEventsThatFindNoRoomAreDroppedAndNoneThatIsRequired(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue, _ *Warning, goOn func(), log *lines) {
		const many = 3 * Most
		required := 0
		var delivered []int
		for i := range many {
			q.Add(func() { delivered = append(delivered, i) })
			if i < Most {
				q.Require([]string{"", "a:1"}[i%2], func() { required++ })
			}
		}
		require.EqualValues(t, many-Most, q.Dropped())
		goOn()
		require.Equal(t, Most, required)
		require.Len(t, delivered, Most)
		require.Equal(t, many-Most, delivered[0], "the oldest were dropped")
		require.True(t, slices.IsSorted(delivered))
		require.Equal(t, []string{fmt.Sprintf("WARN events dropped count=%d losses=0", many-Most)}, log.take())
	})
}

func TestRequiredEventsAreBoundedAndTheLastOfEachStays(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue, _ *Warning, goOn func(), log *lines) {
		const many = 3 * Most
		var delivered []string
		add := func(master string, i int) {
			q.Require(master, func() { delivered = append(delivered, fmt.Sprint(master, " ", i)) })
		}
		for i := range many {
			add("", i)
			add("a:1", i)
			if i == Most {
				add("b:1", i)
			}
		}
		goOn()
		require.Len(t, delivered, Most+1, "b had none before")
		require.Equal(t, []string{fmt.Sprint("b:1 ", Most), fmt.Sprint(" ", many-1), fmt.Sprint("a:1 ", many-1)}, delivered[Most-2:], "in order")
		require.EqualValues(t, 2*many+1-Most-1, q.Dropped())
		require.Equal(t, []string{fmt.Sprintf("WARN events dropped count=%d losses=%d", q.Dropped(), many-Most/2)}, log.take())
	})
}

func TestCloseDeliversTheRestAndDoesNotWaitForOneThatBlocks(t *testing.T) {
	for _, blocks := range []bool{false, true} {
		inBubble(t, func(t *testing.T, q *Queue, _ *Warning, goOn func(), log *lines) {
			delivered := 0
			for range 10 {
				q.Add(func() { time.Sleep(time.Millisecond); delivered++ })
			}
			waits := CloseWait
			if !blocks {
				goOn()
				waits = 10 * time.Millisecond
			}
			begun := time.Now()
			q.Close()
			require.LessOrEqual(t, time.Since(begun), waits)
			q.Add(func() { delivered++ })
			if blocks {
				goOn()
				require.Zero(t, delivered)
			} else {
				require.Equal(t, 10, delivered)
			}
		})
	}
}

func TestNoQueueTakesNothing(t *testing.T) {
	var q *Queue
	q.Log(slog.LevelInfo, true, "text")
	require.Zero(t, q.Dropped())
	q.Close()
}

func TestWarningsOfAPeriodAreOneLineAndTheirCount(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue, w *Warning, goOn func(), log *lines) {
		goOn()
		warn := func(locks ...string) []string {
			for _, lock := range locks {
				q.Add(func() { q.Warn(w, lock, errors.New("why "+lock)) })
			}
			return log.take()
		}
		require.Equal(t, []string{"WARN failed lock=a error=why a"}, warn("a", "b", "c"))
		time.Sleep(WarnPeriod + time.Millisecond)
		require.Equal(t, []string{"WARN failed count=2 lock=c error=why c"}, warn("d"))
		time.Sleep(2 * WarnPeriod)
		require.Equal(t, []string{"WARN failed count=1 lock=d error=why d", "WARN failed lock=e error=why e"}, warn("e", "f"))
		q.Close()
		require.Equal(t, []string{"WARN failed count=1 lock=f error=why f"}, log.take(), "Close reports what was counted")
		time.Sleep(WarnPeriod)
	})
}

// A period that ended unnoticed would silence every warning of its kind from then on.
func TestTheEndOfAWarningsPeriodIsNotDroppedWithTheEventsOfAFlood(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue, w *Warning, goOn func(), log *lines) {
		goOn()
		warn := func() { q.Add(func() { q.Warn(w, "name", errors.New("why")) }) }
		warn()
		warn()
		require.Len(t, log.take(), 1)
		wait := make(chan struct{})
		q.Add(func() { <-wait })
		synctest.Wait()
		time.Sleep(WarnPeriod)
		synctest.Wait()
		for range Most {
			q.Add(func() {})
		}
		close(wait)
		require.Contains(t, log.take(), "WARN failed count=1 lock=name error=why")
		time.Sleep(WarnPeriod)
		log.take()
		warn()
		require.Contains(t, log.take(), "WARN failed lock=name error=why")
	})
}
