package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"time"
)

// lease stands in for engine.Lock: it expires, and its number is larger than that of every lease before it. It is
// kept in a database of its own beside that of the counters.
type lease struct {
	db     *sql.DB
	number uint64
	until  time.Time
}

// acquire waits until the lease of whoever has it has run out.
func acquire(ctx context.Context, dir string, ttl time.Duration) (*lease, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "lock")+"?_pragma=busy_timeout(20000)")
	if err == nil {
		_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS lease (id INTEGER PRIMARY KEY, number INTEGER, until INTEGER);
			INSERT OR IGNORE INTO lease VALUES (1, 0, 0)`)
	}
	for err == nil {
		now := time.Now()
		l := &lease{db: db, until: now.Add(ttl)}
		err = db.QueryRowContext(ctx, "UPDATE lease SET number = number + 1, until = ? WHERE until < ? RETURNING number",
			l.until.UnixNano(), now.UnixNano()).Scan(&l.number)
		if err == nil {
			return l, nil
		}
		if errors.Is(err, sql.ErrNoRows) {
			time.Sleep(10 * time.Millisecond) // another has it
			err = nil
		}
	}
	return nil, err
}

// Fence returns the number.
func (l *lease) Fence() uint64 { return l.number }

// Valid reports whether the lease is still this holder's, by the local clock alone.
func (l *lease) Valid() bool { return time.Now().Before(l.until) }

// Release gives the lease back, unless it is another's by now.
func (l *lease) Release(ctx context.Context) error {
	_, err := l.db.ExecContext(ctx, "UPDATE lease SET until = 0 WHERE number = ?", l.number)
	return errors.Join(err, l.db.Close())
}
