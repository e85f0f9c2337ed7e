package engine

import (
	"context"
	"log/slog"
	"time"
)

// A warning is a line of the log that would come for each lock when too few masters answer. The first is
// logged at once. Those of the next warnPeriod become one line, with their count and the lock and error of
// the last. A warning is owned by events.run.
type warning struct {
	text  string
	level slog.Level
	open  bool   // a warnPeriod has begun
	count int    // in it, not logged
	lock  string // of the last one, like err
	err   error
}

const warnPeriod = 10 * time.Second

// warn logs a warning about a lock, or counts it.
func (q *events) warn(w *warning, lock string, err error) {
	if w.open {
		w.count++
		w.lock, w.err = lock, err
		return
	}
	w.open = true
	q.logger.Log(context.Background(), w.level, w.text, slog.String("lock", lock), slog.Any("error", err))
	q.warnLater(w)
}

// warnLater makes run check a warning again when its period is over. It queues no event: events may be
// dropped, and the warning would then stay silent for good.
func (q *events) warnLater(w *warning) {
	time.AfterFunc(warnPeriod, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.over = append(q.over, w)
		wake(q.wakeup)
	})
}

// warnAgain ends a period. It begins the next one if there were warnings in it.
func (q *events) warnAgain(w *warning) {
	if w.open = w.count > 0; w.open {
		q.warnCounted(w)
		q.warnLater(w)
	}
}

// warnCounted logs the warnings that were counted.
func (q *events) warnCounted(w *warning) {
	if w.count > 0 {
		q.logger.Log(context.Background(), w.level, w.text, slog.Int("count", w.count), slog.String("lock", w.lock), slog.Any("error", w.err))
	}
	w.count, w.lock, w.err = 0, "", nil
}

// warnLast logs the counted warnings at the end of run, if Close still waits for that.
func (q *events) warnLast() {
	q.mu.Lock()
	abandoned := q.abandoned
	q.mu.Unlock()
	if !abandoned {
		for _, w := range []*warning{&q.releases, &q.renewals, &q.bare, &q.mended} {
			q.warnCounted(w)
		}
	}
}
