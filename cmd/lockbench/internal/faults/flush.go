package faults

import (
	"context"
	"fmt"
	"time"

	"muxlock/cmd/lockbench/internal/wire"
)

// flushLimit is how long a master may take to forget everything.
const flushLimit = 2 * time.Second

// flush sends FLUSHALL over a connection of its own.
func flush(addr string) error {
	if _, err := wire.Ask(context.Background(), addr, flushLimit, "FLUSHALL"); err != nil {
		return fmt.Errorf("flush of %s: %w", addr, err)
	}
	return nil
}
