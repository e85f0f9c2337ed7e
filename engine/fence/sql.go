package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrNoRow is returned when the table has no row with the key. Nothing was written.
var ErrNoRow = errors.New("fence: no such row")

// DB is what Table needs of a *sql.DB, *sql.Tx or *sql.Conn.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// TxBeginner is what Table.InTx needs of a *sql.DB or *sql.Conn. InTx passes no options. For another
// isolation level wrap one in a type whose BeginTx sets it.
type TxBeginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// Table is a table whose rows are fenced. The column Fence of a row, BIGINT NOT NULL DEFAULT 0, is the
// largest fence that the row has seen. Key is unique. Name, Key and Fence go into the statements as they are,
// so they are constants, never input. Insert a row, with fence 0, before it is first sealed. Do not delete it
// while a holder may still write: the fence goes with it.
type Table struct {
	Name, Key, Fence string
	// Placeholder returns the text for the n-th argument of a statement, from 1. nil means ? for each.
	// PostgreSQL has $1, SQL Server @p1.
	Placeholder func(n int) string
}

// Seal is Update without data. A holder seals each row before it reads it. In a transaction use InTx.
func (t Table) Seal(ctx context.Context, db DB, key any, fence uint64) error {
	return t.Update(ctx, db, key, fence, "")
}

// Update writes the row with the key, and the fence into it, unless the row has seen a larger one:
//
//	UPDATE name SET set, fence = ? WHERE key = ? AND fence <= ?
//
// set is a constant such as "balance = ?, changed = ?", with args for its placeholders, which come first. The
// one statement makes the check and the write atomic, also outside a transaction. Update blocks and ends with
// ctx as database/sql does.
//
// Errors: ErrInvalid before anything is sent; a StaleError or ErrNoRow when the statement changed nothing (a
// second one asks why); those of the driver. After an error of the driver the write may have happened, as
// ever. To the database neither of the first two is an error: a transaction around it goes on, and must be
// rolled back. It is an error, too, if the driver does not count a row that it leaves as it is: MySQL needs
// clientFoundRows=true. Update is safe for concurrent use as far as db is.
func (t Table) Update(ctx context.Context, db DB, key any, fence uint64, set string, args ...any) error {
	if err := Check(0, fence); err != nil {
		return err
	}
	if set != "" {
		set += ", "
	}
	n := len(args)
	query := fmt.Sprintf("UPDATE %s SET %s%s = %s WHERE %s = %s AND %s <= %s",
		t.Name, set, t.Fence, t.placeholder(n+1), t.Key, t.placeholder(n+2), t.Fence, t.placeholder(n+3))
	result, err := db.ExecContext(ctx, query, append(args[:n:n], int64(fence), key, int64(fence))...)
	if err != nil {
		return err
	}
	if written, err := result.RowsAffected(); err != nil || written > 0 {
		return err
	}
	return t.why(ctx, db, key, fence)
}

// InTx runs fn in a transaction whose first statement is Seal, and commits. From the seal to the commit the
// database keeps every older and newer holder out of the row. So this one row fences all that fn reads and
// writes through tx, in any table. Keep it short: a holder that is paused in it keeps out the next one, too.
//
// InTx rolls back after an error of Seal (fn is not called then), an error of fn, a panic in fn, and the end
// of ctx before the commit. The end of ctx stops the statements of fn, not fn. fn leaves Commit and Rollback
// to InTx, and returns the errors of further Seals and Updates.
//
// Errors: ErrInvalid before anything is sent; those of BeginTx, Seal, fn and Commit, the last three with ctx's
// if it has ended. After an error of Commit the write may have happened; after the others nothing was written. A
// database may refuse a seal that waited for another holder, as PostgreSQL does from REPEATABLE READ up: call
// InTx again. InTx is safe for concurrent use as far as db and fn are.
func (t Table) InTx(ctx context.Context, db TxBeginner, key any, fence uint64, fn func(tx *sql.Tx) error) error {
	if err := Check(0, fence); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // also after a panic; does nothing after Commit
	if err = t.Seal(ctx, tx, key, fence); err == nil {
		err = fn(tx)
	}
	if err == nil {
		err = tx.Commit()
	}
	if end := ctx.Err(); err != nil && end != nil && !errors.Is(err, end) { // drivers have errors of their own for that
		return fmt.Errorf("%w: %w", end, err)
	}
	return err
}

// why returns why a row was not written, never nil.
func (t Table) why(ctx context.Context, db DB, key any, fence uint64) error {
	var seen uint64
	query := fmt.Sprintf("SELECT %s FROM %s WHERE %s = %s", t.Fence, t.Name, t.Key, t.placeholder(1))
	err := db.QueryRowContext(ctx, query, key).Scan(&seen)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: %s %v", ErrNoRow, t.Name, key)
	}
	if err != nil {
		return fmt.Errorf("fence: %s %v was not written: %w", t.Name, key, err)
	}
	if err := Check(seen, fence); err != nil {
		return err
	}
	return fmt.Errorf("fence: %s %v was not counted as written: the driver leaves out rows that stay as they are, or the row is new", t.Name, key)
}

func (t Table) placeholder(n int) string {
	if t.Placeholder == nil {
		return "?"
	}
	return t.Placeholder(n)
}
