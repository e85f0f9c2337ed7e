package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	_ "modernc.org/sqlite"

	"muxlock/engine/fence"
)

var accounts = fence.Table{Name: "accounts", Key: "id", Fence: "fence"}

func openAccounts(ctx context.Context) *sql.DB {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	_, err = db.ExecContext(ctx, `
		CREATE TABLE accounts (id TEXT PRIMARY KEY, balance INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0);
		CREATE TABLE journal (account TEXT NOT NULL, amount INTEGER NOT NULL);
		INSERT INTO accounts (id, balance) VALUES ('alice', 10)`)
	if err != nil {
		log.Fatal(err)
	}
	return db
}

// A balance in a table: the first holder is paused after it has read, the second one follows.
func Example() {
	ctx := context.Background()
	db := openAccounts(ctx)
	defer db.Close()

	read := func(number uint64) (balance int) { // number is lock.Fence()
		if err := accounts.Seal(ctx, db, "alice", number); err != nil {
			log.Fatal(err)
		}
		if err := db.QueryRowContext(ctx, "SELECT balance FROM accounts WHERE id = ?", "alice").Scan(&balance); err != nil {
			log.Fatal(err)
		}
		return balance
	}
	first, second := read(3), read(4)
	fmt.Println("both read", first, second)
	err := accounts.Update(ctx, db, "alice", 3, "balance = ?", first+5)
	fmt.Println(err, errors.Is(err, fence.ErrStale))
	fmt.Println(accounts.Update(ctx, db, "alice", 4, "balance = ?", second+5))
	// Output:
	// both read 10 10
	// fence: stale: 3 came, 4 was seen true
	// <nil>
}

// A deposit and its line in the journal, which has no fence: the row of the account fences the transaction. A holder that
// was followed writes neither.
func Example_transaction() {
	ctx := context.Background() // lock.Context(): when the lock is lost, the transaction is rolled back
	db := openAccounts(ctx)
	defer db.Close()

	deposit := func(amount int, number uint64) error { // number is lock.Fence()
		return accounts.InTx(ctx, db, "alice", number, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "INSERT INTO journal VALUES ('alice', ?)", amount); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance + ? WHERE id = 'alice'", amount)
			return err
		})
	}
	fmt.Println(deposit(5, 4))
	fmt.Println(deposit(7, 3))
	var balance, lines int
	err := db.QueryRowContext(ctx, "SELECT balance, (SELECT count(*) FROM journal) FROM accounts").Scan(&balance, &lines)
	fmt.Println(balance, lines, err)
	// Output:
	// <nil>
	// fence: stale: 3 came, 4 was seen
	// 15 1 <nil>
}
