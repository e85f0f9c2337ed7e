//go:build !unix

package child

import (
	"os"
	"syscall"
)

func attr(bool) *syscall.SysProcAttr { return nil }

// SignalGroup signals the process alone: this system has no process groups.
func SignalGroup(p *os.Process, s syscall.Signal) error { return p.Signal(s) }

// This system does not have these signals: sending one fails.
const (
	sigStop = syscall.Signal(-1)
	sigCont = syscall.Signal(-2)
)

func awaitStopped(int) error { return nil }
