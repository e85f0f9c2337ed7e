//go:build !unix

package child

import (
	"os"
	"syscall"
)

// Signals that this system does not have: sending one fails.
const sigStop, sigCont = syscall.Signal(-1), syscall.Signal(-2)

// SignalGroup reaches the process only: there are no groups.
func SignalGroup(p *os.Process, s syscall.Signal) error { return p.Signal(s) }
