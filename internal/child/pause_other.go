//go:build !unix

package child

import "syscall"

// This system does not have these signals: sending one fails.
const (
	sigStop = syscall.Signal(-1)
	sigCont = syscall.Signal(-2)
)

func awaitStopped(int) error { return nil }
