package faults

import (
	"bufio"
	"fmt"
	"net"
	"time"
)

// flushLimit is how long a master may take to forget everything.
const flushLimit = 2 * time.Second

// flush sends FLUSHALL over a connection of its own.
func flush(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, flushLimit)
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(flushLimit))
	if _, err := conn.Write([]byte("FLUSHALL\r\n")); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	if reply != "+OK\r\n" {
		return fmt.Errorf("flush of %s: %q", addr, reply)
	}
	return nil
}
