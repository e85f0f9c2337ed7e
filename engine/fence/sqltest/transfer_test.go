package sqltest_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/enginetest"
	"muxlock/engine/fence"
)

// A bank moves money between two accounts. Each account's lock has a fence, and each row keeps the largest it has seen.
type bank struct {
	locks *engine.Engine // with Config.Fencing
	db    *sql.DB
}

func (b *bank) transfer(ctx context.Context, from, to string, amount int) error {
	names := []string{"account/" + from, "account/" + to} // in any order: sets do not deadlock
	return b.locks.DoAll(ctx, names, 10*time.Second, func(ctx context.Context, set *engine.Set) error {
		return b.move(ctx, from, to, amount, set.Locks()[0].Fence(), set.Locks()[1].Fence())
	})
}

// move is one transaction. It writes neither row if a later holder of either lock has written.
func (b *bank) move(ctx context.Context, from, to string, amount int, fromFence, toFence uint64) error {
	return accounts.InTx(ctx, b.db, from, fromFence, func(tx *sql.Tx) error {
		if err := accounts.Update(ctx, tx, from, fromFence, "balance = balance - ?", amount); err != nil {
			return err
		}
		return accounts.Update(ctx, tx, to, toFence, "balance = balance + ?", amount)
	})
}

func TestATransferOfAHolderThatWasFollowedWritesNeitherRow(t *testing.T) {
	ctx := t.Context()
	b := &bank{enginetest.New(t, engine.Config{Fencing: true}).Engine, openAccounts(ctx)}
	defer b.db.Close()
	_, err := b.db.ExecContext(ctx, "INSERT INTO accounts (id, balance) VALUES ('bob', 5)")
	require.NoError(t, err)
	balances := func() (of [2]int) {
		for i, id := range []string{"alice", "bob"} {
			require.NoError(t, b.db.QueryRowContext(ctx, "SELECT balance FROM accounts WHERE id = ?", id).Scan(&of[i]))
		}
		return of
	}

	stopped, err := b.locks.AcquireAll(ctx, []string{"account/alice", "account/bob"}, time.Second)
	require.NoError(t, err)
	fromFence, toFence := stopped.Locks()[0].Fence(), stopped.Locks()[1].Fence()
	require.NoError(t, stopped.Release(ctx)) // the process was stopped, and its leases ran out
	require.NoError(t, b.transfer(ctx, "bob", "alice", 2))
	require.Equal(t, [2]int{12, 3}, balances())

	require.ErrorIs(t, b.move(ctx, "alice", "bob", 5, fromFence, toFence), fence.ErrStale)
	next, err := b.locks.Acquire(ctx, "account/alice", 0)
	require.NoError(t, err)
	require.ErrorIs(t, b.move(ctx, "alice", "bob", 5, next.Fence(), toFence), fence.ErrStale, "one row that was followed is enough")
	require.Equal(t, [2]int{12, 3}, balances())
}
