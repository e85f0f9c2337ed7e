//go:build !unix

package child

import "syscall"

func attr() *syscall.SysProcAttr { return nil }

// Signals that this system does not have: sending one fails.
const sigStop, sigCont = syscall.Signal(-1), syscall.Signal(-2)
