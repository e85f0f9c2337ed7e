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
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	c, err := wire.Dial(ctx, addr)
	if err == nil {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(flushLimit))
		_, err = c.Call("FLUSHALL")
	}
	if err != nil {
		return fmt.Errorf("flush of %s: %w", addr, err)
	}
	return nil
}
