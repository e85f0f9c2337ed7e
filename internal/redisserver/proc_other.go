//go:build !unix

package redisserver

import "syscall"

// Signals that this system does not have: sending one fails.
const (
	sigStop = syscall.Signal(-1)
	sigCont = syscall.Signal(-2)
)

func awaitStopped(int) error { return nil }
