package engine

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWarningsOfAnOutageAreOneLineOfEachKindAndTheirCounts(t *testing.T) {
	var out bytes.Buffer
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		hold := func(n int) (locks []*Lock) {
			for i := range n {
				lock, err := e.Acquire(context.Background(), fmt.Sprint("name", i), 0)
				require.NoError(t, err)
				locks = append(locks, lock)
			}
			return locks
		}
		lines := func() []string {
			synctest.Wait()
			defer out.Reset()
			return strings.Split(strings.TrimSpace(out.String()), "\n")
		}
		locks := hold(50)
		lines()
		s.set(func() { s.away = true })
		for _, lock := range locks[1:] {
			require.NoError(t, lock.KeepAlive(0))
		}
		require.ErrorIs(t, locks[0].Release(context.Background()), ErrNoQuorum)
		time.Sleep(e.cfg.TTL/3 + time.Millisecond) // each has failed once
		got := lines()
		require.Len(t, got, 2)
		require.Contains(t, got[0], `level=WARN msg="release not confirmed" lock=name0 error=`)
		require.Regexp(t, `^level=WARN msg="renewal failed" lock=name\d+ error=`, got[1])
		s.set(func() { s.away = false })
		time.Sleep(time.Minute)
		got = lines()
		require.Len(t, got, 1)
		require.Regexp(t, `^level=WARN msg="renewal failed" count=48 lock=name\d+ error=`, got[0])

		s.set(func() { s.away = true })
		for _, lock := range locks[1:] {
			require.ErrorIs(t, lock.Release(context.Background()), ErrNoQuorum)
		}
		require.NoError(t, e.Close())
		got = lines()
		require.Len(t, got, 2)
		require.Contains(t, got[0], `level=WARN msg="release not confirmed" lock=name1 error=`)
		require.Contains(t, got[1], `level=WARN msg="release not confirmed" count=48 lock=name49 error=`)
	}, func(c *Config) { c.Logger = timeless(&out) })
}

// A period that ended unnoticed would silence every warning of its kind from then on.
func TestTheEndOfAWarningsPeriodIsNotDroppedWithTheEventsOfAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		cfg := Config{Logger: timeless(&out)}
		q := newEvents(&cfg)
		defer q.close()
		goOn := make(chan struct{})
		warn := func() { q.add(false, func() { q.warn(&q.releases, "name", ErrNoQuorum) }) }
		warn()
		warn()
		synctest.Wait()
		q.add(false, func() { <-goOn })
		synctest.Wait()
		time.Sleep(warnPeriod)
		synctest.Wait()
		for range eventQueue {
			q.add(false, func() {})
		}
		close(goOn)
		synctest.Wait()
		require.Contains(t, out.String(), `msg="release not confirmed" count=1 lock=name`)
		time.Sleep(warnPeriod)
		synctest.Wait()
		out.Reset()
		warn()
		synctest.Wait()
		require.Contains(t, out.String(), `msg="release not confirmed" lock=name`)
	})
}
