//go:build unix

package child

import (
	"os"
	"syscall"
)

// SignalGroup sends a signal to a process from Start and to its whole group.
func SignalGroup(p *os.Process, s syscall.Signal) error { return syscall.Kill(-p.Pid, s) }
