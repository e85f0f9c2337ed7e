//go:build !unix

package child

import (
	"os"
	"syscall"
)

// SignalGroup reaches the process only: there are no groups.
func SignalGroup(p *os.Process, s syscall.Signal) error { return p.Signal(s) }
