// Package sqltest has the tests of fence.Table on a real database, in a module of its own: SQLite reaches no one's go.mod.
package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"muxlock/engine/fence"
	"muxlock/internal/testing/await"
)

// counters is the table under test.
var counters = fence.Table{Name: "counters", Key: "id", Fence: "fence"}

// open opens the database in dir and makes the table, with the counter n at 0, unless it is there. Whoever finds
// the database locked waits.
func open(dir string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "db")+"?_pragma=busy_timeout(20000)&_txlock=deferred")
	if err == nil {
		_, err = db.Exec(`CREATE TABLE IF NOT EXISTS counters (id TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, fence BIGINT NOT NULL DEFAULT 0);
			INSERT OR IGNORE INTO counters (id) VALUES ('n')`)
	}
	return db, err
}

func newDB(t *testing.T) *sql.DB {
	t.Helper()
	db, err := open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// row returns what the counter n has.
func row(t *testing.T, db fence.DB) (n, seen uint64) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT n, fence FROM counters WHERE id = 'n'").Scan(&n, &seen))
	return n, seen
}

func requireRow(t *testing.T, db fence.DB, n, seen uint64) {
	t.Helper()
	gotN, gotSeen := row(t, db)
	require.Equal(t, [2]uint64{n, seen}, [2]uint64{gotN, gotSeen}, "n, fence")
}

func TestRowRefusesOlderHoldersOnly(t *testing.T) {
	db, ctx := newDB(t), t.Context()
	require.NoError(t, counters.Seal(ctx, db, "n", 3))
	requireRow(t, db, 0, 3)
	require.NoError(t, counters.Update(ctx, db, "n", 3, "n = ?", 1))
	require.NoError(t, counters.Update(ctx, db, "n", 3, "n = ?", 1), "equal, and no column changes")
	require.NoError(t, counters.Seal(ctx, db, "n", 10))
	require.NoError(t, counters.Update(ctx, db, "n", 11, "n = n + ?", 4))
	requireRow(t, db, 5, 11)

	require.EqualError(t, counters.Update(ctx, db, "n", 10, "n = ?", 9), "fence: stale: 10 came, 11 was seen")
	require.ErrorIs(t, counters.Seal(ctx, db, "n", 3), fence.ErrStale)
	requireRow(t, db, 5, 11)

	require.NoError(t, counters.Seal(ctx, db, "n", fence.Max))
	require.ErrorIs(t, counters.Seal(ctx, db, "n", fence.Max-1), fence.ErrStale)
	requireRow(t, db, 5, fence.Max)
}

func TestMissingRowIsNotCalledStale(t *testing.T) {
	err := counters.Seal(t.Context(), newDB(t), "other", 3)
	require.EqualError(t, err, "fence: no such row: counters other")
	require.ErrorIs(t, err, fence.ErrNoRow)
	require.NotErrorIs(t, err, fence.ErrStale)
}

func TestRowRefusesWhatIsNoFence(t *testing.T) {
	db := newDB(t)
	for _, number := range []uint64{0, fence.Max + 1, math.MaxInt64, math.MaxUint64} {
		require.ErrorIs(t, counters.Update(t.Context(), db, "n", number, "n = ?", 1), fence.ErrInvalid)
		require.ErrorIs(t, counters.Seal(t.Context(), nil, "n", number), fence.ErrInvalid, "nothing is sent")
	}
	requireRow(t, db, 0, 0)
}

func TestErrorsOfTheDatabaseComeBack(t *testing.T) {
	db, ctx := newDB(t), t.Context()
	require.ErrorContains(t, counters.Update(ctx, db, "n", 1, "nonsense = ?", 1), "nonsense")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, counters.Seal(ended, db, "n", 1), context.Canceled)
	requireRow(t, db, 0, 0)

	_, err := db.Exec("CREATE TABLE loose (id TEXT, fence BIGINT); INSERT INTO loose (id) VALUES ('n')")
	require.NoError(t, err)
	loose := fence.Table{Name: "loose", Key: "id", Fence: "fence"}
	require.ErrorContains(t, loose.Seal(ctx, db, "n", 1), "loose n was not written", "NULL is no fence that was seen")
}

func TestPlaceholdersAreNumberedAfterThoseOfTheData(t *testing.T) {
	db, ctx := newDB(t), t.Context()
	numbered := counters
	numbered.Placeholder = func(n int) string { return "?" + strconv.Itoa(n) }
	require.NoError(t, numbered.Update(ctx, db, "n", 7, "n = ?1 - ?2", 9, 5))
	requireRow(t, db, 4, 7)
	require.ErrorIs(t, numbered.Seal(ctx, db, "n", 6), fence.ErrStale)
	require.ErrorIs(t, numbered.Seal(ctx, db, "other", 6), fence.ErrNoRow)
}

func TestArgumentsOfTheCallerStayAsTheyWere(t *testing.T) {
	args := make([]any, 1, 8)
	args[0] = 1
	require.NoError(t, counters.Update(t.Context(), newDB(t), "n", 1, "n = ?", args...))
	require.Nil(t, args[:2][1])
}

// changed is a DB whose driver counts changed rows only, as MySQL's does by default.
type changed struct{ *sql.DB }

func (c changed) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	var before, after string
	const all = "SELECT group_concat(id || n || fence) FROM counters"
	if err := c.QueryRowContext(ctx, all).Scan(&before); err != nil {
		return nil, err
	}
	result, err := c.DB.ExecContext(ctx, query, args...)
	if err == nil {
		err = c.QueryRowContext(ctx, all).Scan(&after)
	}
	if before == after {
		result = none{}
	}
	return result, err
}

type none struct{ sql.Result }

func (none) RowsAffected() (int64, error) { return 0, nil }

func TestDriverThatCountsChangedRowsOnlyIsAnError(t *testing.T) {
	db := changed{newDB(t)}
	require.NoError(t, counters.Seal(t.Context(), db, "n", 1))
	err := counters.Seal(t.Context(), db, "n", 1)
	require.ErrorContains(t, err, "the driver leaves out rows")
	require.NotErrorIs(t, err, fence.ErrStale)
	require.NotErrorIs(t, err, fence.ErrNoRow)
}

func insertOther(t *testing.T, db fence.DB) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), "INSERT INTO counters (id) VALUES ('other')")
	require.NoError(t, err)
}

// others returns how many rows there are beside that of n.
func others(t *testing.T, db fence.DB) (rows int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM counters WHERE id <> 'n'").Scan(&rows))
	return rows
}

// idle requires that no connection is in a transaction.
func idle(t *testing.T, db *sql.DB) {
	t.Helper()
	require.Zero(t, db.Stats().InUse, "connections in use")
}

func TestInTxCommitsWhatTheHolderWrites(t *testing.T) {
	db, ctx := newDB(t), t.Context()
	require.NoError(t, counters.Seal(ctx, db, "n", 3))
	require.NoError(t, counters.InTx(ctx, db, "n", 4, func(tx *sql.Tx) error {
		requireRow(t, tx, 0, 4) // sealed before it reads
		insertOther(t, tx)
		return counters.Update(ctx, tx, "n", 4, "n = ?", 1)
	}))
	requireRow(t, db, 1, 4)
	require.Equal(t, 1, others(t, db))
	idle(t, db)
}

func TestInTxWritesNothingWhereItsSealIsRefused(t *testing.T) {
	db, ctx := newDB(t), t.Context()
	require.NoError(t, counters.Seal(ctx, db, "n", 4))
	for err, at := range map[error]struct {
		key   string
		fence uint64
	}{fence.ErrStale: {"n", 3}, fence.ErrNoRow: {"missing", 5}, fence.ErrInvalid: {"n", 0}} {
		require.ErrorIs(t, counters.InTx(ctx, db, at.key, at.fence, func(tx *sql.Tx) error {
			insertOther(t, tx)
			return nil
		}), err)
	}
	require.ErrorIs(t, counters.InTx(ctx, nil, "n", 0, nil), fence.ErrInvalid, "nothing is sent")
	requireRow(t, db, 0, 4)
	require.Zero(t, others(t, db))
	idle(t, db)
}

func TestInTxRollsBackAfterAnErrorAPanicAndTheEndOfCtx(t *testing.T) {
	broken := errors.New("broken")
	for name, end := range map[string]struct {
		fn   func(tx *sql.Tx, cancel func()) error
		want error
	}{
		"error": {func(*sql.Tx, func()) error { return broken }, broken},
		"panic": {func(*sql.Tx, func()) error { panic(broken) }, broken},
		"stale in fn": {func(tx *sql.Tx, _ func()) error {
			return counters.Update(context.Background(), tx, "n", 1, "n = ?", 1)
		}, fence.ErrStale},
		"rolled back by fn": {func(tx *sql.Tx, _ func()) error { return tx.Rollback() }, sql.ErrTxDone},
		"ctx ends":          {func(_ *sql.Tx, cancel func()) error { cancel(); return nil }, context.Canceled},
		"ctx ends a statement of a driver with its own error for that": {func(_ *sql.Tx, cancel func()) error {
			cancel()
			return broken
		}, context.Canceled},
		"rolled back after ctx": {func(tx *sql.Tx, cancel func()) error {
			cancel()
			for range 10_000 { // until database/sql has rolled back
				if _, err := tx.Exec("SELECT 1"); err != nil {
					return err
				}
				time.Sleep(time.Millisecond)
			}
			return nil
		}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			db := newDB(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			inTx := func() (err error) {
				defer func() {
					if thrown, ok := recover().(error); ok {
						err = thrown
					}
				}()
				return counters.InTx(ctx, db, "n", 3, func(tx *sql.Tx) error {
					insertOther(t, tx)
					return end.fn(tx, cancel)
				})
			}
			require.ErrorIs(t, inTx(), end.want)
			await.Equal(t, 0, func() any { return db.Stats().InUse }, "not rolled back")
			requireRow(t, db, 0, 0)
			require.Zero(t, others(t, db))
		})
	}
}

func TestInTxReturnsErrorsOfBeginAndCommit(t *testing.T) {
	db, ctx := newDB(t), t.Context()
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	_, err = conn.ExecContext(ctx, `PRAGMA foreign_keys = ON;
		CREATE TABLE parts (id TEXT REFERENCES counters DEFERRABLE INITIALLY DEFERRED)`)
	require.NoError(t, err)
	err = counters.InTx(ctx, conn, "n", 3, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO parts VALUES ('of none')")
		return err
	})
	require.ErrorContains(t, err, "FOREIGN KEY")
	requireRow(t, db, 0, 0)
	require.NoError(t, conn.Close())
	require.ErrorIs(t, counters.InTx(ctx, conn, "n", 3, nil), sql.ErrConnDone)
}

// The interleaving of the package comment: both compare when they write, one reads without a seal.
func TestUpdateIsLostWhereTheNextHolderReadsBeforeItSeals(t *testing.T) {
	for _, seals := range []bool{true, false} {
		t.Run(fmt.Sprint("seals=", seals), func(t *testing.T) {
			db, ctx := newDB(t), t.Context()
			require.NoError(t, counters.Seal(ctx, db, "n", 3))
			read, _ := row(t, db)
			if seals {
				require.NoError(t, counters.Seal(ctx, db, "n", 4))
			}
			next, _ := row(t, db)
			first := counters.Update(ctx, db, "n", 3, "n = ?", read+1)
			require.NoError(t, counters.Update(ctx, db, "n", 4, "n = ?", next+1))
			if requireRow(t, db, 1, 4); seals {
				require.ErrorIs(t, first, fence.ErrStale)
			} else {
				require.NoError(t, first, "two were accepted, one counts")
			}
		})
	}
}
