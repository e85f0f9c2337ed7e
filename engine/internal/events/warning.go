package events

import (
	"context"
	"log/slog"
	"time"
)

// A Warning is a line of the log that would come for each lock when too few masters answer. The first is logged at once.
// Those of the next WarnPeriod become one line, with their count and the lock and error of the last. A Warning is owned
// by the queue's goroutine.
type Warning struct {
	Text  string
	Level slog.Level

	open  bool   // a WarnPeriod has begun
	count int    // in it, not logged
	lock  string // of the last one, like err
	err   error
}

// WarnPeriod is the time from one line of a Warning to the next.
const WarnPeriod = 10 * time.Second

// Warn logs a warning about a lock, or counts it. An event calls it.
func (q *Queue) Warn(w *Warning, lock string, err error) {
	if w.open {
		w.count++
		w.lock, w.err = lock, err
		return
	}
	w.open = true
	q.logger.Log(context.Background(), w.Level, w.Text, slog.String("lock", lock), slog.Any("error", err))
	q.warnLater(w)
}

// warnLater makes run check a warning again when its period is over. It queues no event: events may be dropped, and the
// warning would then stay silent for good.
func (q *Queue) warnLater(w *Warning) {
	time.AfterFunc(WarnPeriod, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.over = append(q.over, w)
		q.changed.Signal()
	})
}

// warnAgain ends a period. It begins the next one if there were warnings in it.
func (q *Queue) warnAgain(w *Warning) {
	if w.open = w.count > 0; w.open {
		q.warnCounted(w)
		q.warnLater(w)
	}
}

// warnCounted logs the warnings that were counted.
func (q *Queue) warnCounted(w *Warning) {
	if w.count > 0 {
		q.logger.Log(context.Background(), w.Level, w.Text, slog.Int("count", w.count), slog.String("lock", w.lock), slog.Any("error", w.err))
	}
	w.count, w.lock, w.err = 0, "", nil
}
