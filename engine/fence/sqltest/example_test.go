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

// A balance in a table: the first holder is paused after it has read, the second one follows.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	_, err = db.ExecContext(ctx, `
		CREATE TABLE accounts (id TEXT PRIMARY KEY, balance INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0);
		INSERT INTO accounts (id, balance) VALUES ('alice', 10)`)
	if err != nil {
		log.Fatal(err)
	}
	accounts := fence.Table{Name: "accounts", Key: "id", Fence: "fence"}

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
	err = accounts.Update(ctx, db, "alice", 3, "balance = ?", first+5)
	fmt.Println(err, errors.Is(err, fence.ErrStale))
	fmt.Println(accounts.Update(ctx, db, "alice", 4, "balance = ?", second+5))
	// Output:
	// both read 10 10
	// fence: stale: 3 came, 4 was seen true
	// <nil>
}
